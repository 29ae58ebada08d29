// retired_test.cpp: pools of formats 1 to 4, which were never released, are refused by name, and stay as they are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "support/image.hpp"
#include "support/pages.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  const char* file;
  std::uint32_t version;
};

class Retired : public testing::TestWithParam<Fixture> {
 protected:
  void SetUp() override {
    const std::string bytes = read_file(fs::path(HOLDFAST_TEST_DATA) / GetParam().file);
    if (is_packed(bytes)) {
      write_pages(path_, bytes);
    } else {
      write_file(path_, bytes);
    }
    bytes_ = read_file(path_);
    ASSERT_GT(bytes_.size(), 8192u);
  }
  void TearDown() override { fs::remove(path_); }

  /// `open` is refused, as what it is and with what to do, and the file stays as it was.
  template <class Open>
  void expect_refused(const char* what, const Open& open) {
    try {
      open();
      ADD_FAILURE() << what << " went through";
    } catch (const PoolVersion& error) {
      const std::string version = std::to_string(GetParam().version);
      EXPECT_EQ(error.what(), path_ + " is a pool of format " + version +
                                  ", which was retired before the first release; dump it with the Holdfast that made "
                                  "it, and load the dump into a new pool")
          << what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
    EXPECT_TRUE(read_file(path_) == bytes_) << what << " wrote to the file";
  }

  void expect_all_refused() {
    for (const bool read_only : {false, true}) {
      for (const bool salvage : {false, true}) {
        expect_refused("Pool::open", [&] { Pool::open(path_, {.read_only = read_only, .salvage = salvage}); });
        expect_refused("Table::open", [&] {
          OpenOptions options;
          options.runtime.device = "cpu";
          options.read_only = read_only;
          options.salvage = salvage;
          Table::open(path_, options);
        });
      }
    }
    expect_refused("inspect", [&] { inspect(path_); });
    expect_refused("check", [&] { check(path_); });
    expect_refused("check with repair", [&] { check(path_, true); });
  }

  const std::string path_ = pool_path() + "-retired";
  std::string bytes_;
};

TEST_P(Retired, IsRefusedByName) { expect_all_refused(); }

/// A kill left one copy of its superblock half-written, or its page is lost: it is still the pool that it was.
TEST_P(Retired, IsRefusedByNameWithOneDamagedCopy) {
  const std::string whole = bytes_;
  for (const std::uint64_t copy : {0, 4096}) {
    bytes_ = whole;
    bytes_[copy + 2000] ^= '\x55';
    write_file(path_, bytes_);
    expect_all_refused();
    bytes_ = whole;
    bytes_.replace(copy, 4096, 4096, '\0');
    write_file(path_, bytes_);
    expect_all_refused();
  }
}

TEST_P(Retired, IsReplacedOnlyIfAskedTo) {
  EXPECT_THROW(Pool::create(path_), PoolExists);
  EXPECT_THROW(Table::create(path_, {.runtime = {.device = "cpu"}}), PoolExists);
  EXPECT_TRUE(read_file(path_) == bytes_);
  Pool::create(path_, true).close();
  EXPECT_EQ(inspect(path_).version, 5u);
}

INSTANTIATE_TEST_SUITE_P(Formats, Retired,
                         testing::Values(Fixture{"pool-v1.hold", 1}, Fixture{"pool-v2.hold", 2},
                                         Fixture{"pool-v3.hold.pages", 3}, Fixture{"pool-v4.hold", 4}),
                         [](const auto& info) { return "Version" + std::to_string(info.param.version); });

}  // namespace
}  // namespace holdfast::test::corrupt
