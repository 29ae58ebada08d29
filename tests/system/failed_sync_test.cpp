// failed_sync_test.cpp: a sync fails, and the kernel takes what it could not write for written. No later one may be believed.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "holdfast/table.hpp"
#include "proof/images.hpp"
#include "proof/recorder.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr std::uint64_t kRows = 300;

class FailedSync : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(run_);
    std::filesystem::create_directory(left_);
  }

  static Table open(const std::string& folder) {
    OpenOptions options;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    return Table::open(folder + "/a.hold", options);
  }
  static void put(Table& table, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t key = first; key < last; ++key) {
      const std::uint64_t value[] = {key, key};
      table.insert_or_assign(&key, value, 1);
    }
  }
  static std::uint64_t items(const std::string& folder) {
    Table table = open(folder);
    EXPECT_TRUE(table.check().errors.empty());
    return table.size();
  }

  /// One process puts items and closes, while a call fails; another opens the pool and closes it. Returns the calls that were made.
  std::vector<Recorder::Made> fail(const Fault& fault) {
    empty(run_);
    CreateOptions options;
    options.shape.value_bytes = 16;
    options.shape.capacity = 8;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    Table::create(run_ + "/a.hold", options);
    Recorder recorder(run_, {.on_disk = true}, false, fault);
    {
      const Watch watch(recorder);
      try {
        Table table = open(run_);
        put(table, 0, kRows);
        table.close();
      } catch (const Error&) {
        ++failed_;
      }
      Table table = open(run_);
      acknowledged_ = table.size();
      table.close();
    }
    for_each_power_cut(recorder.now().moment, {}, [&](const Image& image) {
      empty(left_);
      write(image, left_);
      Pretender pretender({.on_disk = true, .boot = 2});
      const Watch watch(pretender);
      EXPECT_EQ(items(left_), acknowledged_) << name(fault.call) << " " << fault.at << " failed";
      ++images_;
    });
    return recorder.made();
  }

  const test::Folder root_;
  const std::string run_ = root_ / "run", left_ = root_ / "left";
  std::uint64_t acknowledged_ = 0, failed_ = 0, images_ = 0;
};

TEST_F(FailedSync, IsMadeUpForByTheNextProcess) {
  const std::vector<Recorder::Made> calls = fail({});
  EXPECT_EQ(acknowledged_, kRows);
  for (const Recorder::Made& made : calls) {
    if (made.call == Call::fdatasync || made.call == Call::msync) {
      fail({.call = made.call, .at = made.number, .error = EIO});
    }
  }
  EXPECT_GE(failed_, 5u);
  EXPECT_GE(images_, failed_);
}

TEST_F(FailedSync, EndsChangesInThisOne) {
  CreateOptions options;
  options.shape.capacity = 8;
  options.runtime.device = "cpu";
  Table::create(run_ + "/a.hold", options);
  const std::uint64_t key = 7;
  Recorder recorder(run_, {.on_disk = true}, false, {.call = Call::fdatasync, .error = EIO});
  const Watch watch(recorder);
  Table table = open(run_);
  table.insert_or_assign(&key, &key, 1);
  EXPECT_THROW(table.sync(), SystemError);
  ASSERT_TRUE(recorder.has_failed()) << "sync does not call fdatasync";
  EXPECT_THROW(table.insert_or_assign(&key, &key, 1), SystemError);
  EXPECT_THROW(table.sync(), SystemError) << "a second one would be told that all is well";
  bool found = false;
  table.contains(&key, 1, &found);
  EXPECT_TRUE(found) << "searches go on";
  EXPECT_THROW(table.close(), SystemError);
}

}  // namespace
}  // namespace holdfast::proof
