// unlocked_test.cpp: `inspect` takes no lock, so it reads a pool while its owner changes it: what is half-written then is no damage.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "fixture.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test::corrupt {
namespace {

class Unlocked : public testing::Test {
 protected:
  Unlocked() {
    CreateOptions options;
    options.shape.capacity = 16;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    pool_.create_table("numbers", options).close();
    pool_.create_table("renamed", options).close();
  }
  ~Unlocked() override {
    pool_.close();
    std::filesystem::remove(path_);
  }

  /// Inspects the pool again and again while `change` runs again and again.
  template <class Change>
  void inspect_during(const Change& change) {
    std::atomic<bool> ended = false;
    std::thread writer([&] {
      for (unsigned i = 0; !ended.load(); ++i) change(i);
    });
    for (unsigned i = 0; i < (is_long() ? 100'000u : 3'000u) && !HasFailure(); ++i) {
      try {
        for (const ObjectInfo& object : inspect(path_).objects) EXPECT_EQ(object.damage, "") << object.name;
        for (const ObjectInfo& object : pool_.objects()) EXPECT_EQ(object.damage, "") << object.name << ", open";
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
    ended = true;
    writer.join();
  }

  const std::string path_ = pool_path() + "-unlocked";
  Pool pool_ = Pool::create(path_, true);
};

TEST_F(Unlocked, ACommitIsNoDamage) {
  const char* const names[] = {"renamed", "renamed again"};
  inspect_during([&](unsigned i) { pool_.rename(names[i % 2], names[1 - i % 2]); });
  if (pool_.objects()[1].name != names[0]) pool_.rename(names[1], names[0]);
}

/// Objects come and go, and their pages lie where those of others lay.
TEST_F(Unlocked, ADropIsNoDamage) {
  CreateOptions options;
  options.shape.capacity = 16;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  inspect_during([&](unsigned i) {
    pool_.create_table("a" + std::to_string(i), options).close();
    if (i % 3 != 0) pool_.create_table("b" + std::to_string(i), options).close();
    pool_.drop("a" + std::to_string(i));
    if (i % 3 != 0) pool_.drop("b" + std::to_string(i));
  });
}

TEST_F(Unlocked, AMarkIsNoDamage) {
  OpenOptions options;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  Table table = pool_.table("numbers", options);
  const std::uint64_t key = 4711;
  inspect_during([&](unsigned i) {
    const std::uint64_t value = i;
    table.insert_or_assign(&key, &value, 1);
    table.sync();
  });
}

}  // namespace
}  // namespace holdfast::test::corrupt
