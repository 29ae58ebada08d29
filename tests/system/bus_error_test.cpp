// bus_error_test.cpp: a page of an open pool is not there any more. Its users get an error and nothing is acknowledged; SIGBUS elsewhere is
// none of ours.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kItems = 20'000;

class BusError : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    CreateOptions options;
    options.shape.value_bytes = GetParam();
    options.shape.capacity = kItems;
    options.runtime.device = "cpu";
    options.runtime.threads = 2;
    table_.emplace(Table::create(path_, options));
    for (std::uint64_t key = 0; key < kItems; ++key) keys_.push_back(key);
    values_.resize(kItems * GetParam());
    table_->insert(keys_.data(), values_.data(), kItems);
    table_->sync();
  }
  void TearDown() override { table_.reset(); }
  /// What is behind the directory is no more.
  void cut_short() const { fs::resize_file(path_, std::uint64_t{512} << 10); }

  /// Errors of two kinds are right: that a page was lost, and from then on that the pool takes no changes.
  void expect_lost(const char* what, const std::function<void()>& use) const {
    try {
      use();
      ADD_FAILURE() << what << " went through";
    } catch (const MediumError& error) {
      EXPECT_EQ(std::string(error.what()).find(path_ + " lost a page"), 0u) << what << ": " << error.what();
    }
  }

  const test::Folder folder_;
  const std::string path_ = folder_ / "a.hold";
  std::optional<Table> table_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::byte> values_;
};
INSTANTIATE_TEST_SUITE_P(Values, BusError, testing::Values(8u, 100u));

TEST_P(BusError, EndsAChangingBatch) {
  cut_short();
  std::vector<Status> statuses(kItems);
  expect_lost("a batch", [&] { table_->insert_or_assign(keys_.data(), values_.data(), kItems, statuses.data()); });
  expect_lost("a batch of one", [&] { table_->insert_or_assign(keys_.data(), values_.data(), 1, statuses.data()); });
  EXPECT_EQ(table_->stats().place.domain, Domain::none);
  expect_lost("a sync", [&] { table_->sync(); });
  expect_lost("a close", [&] { table_->close(); });
}

TEST_P(BusError, EndsASearch) {
  cut_short();
  expect_lost("a search", [&] { table_->find(keys_.data(), values_.data(), kItems); });
  expect_lost("a search of one", [&] { table_->find(keys_.data(), values_.data(), 1); });
}

TEST_P(BusError, EndsWhatLooksAtAll) {
  cut_short();
  expect_lost("an export", [&] {
    std::uint64_t cursor = 0;
    table_->export_batch(cursor, keys_.data(), values_.data(), kItems);
  });
  expect_lost("a check", [&] { table_->check(); });
  expect_lost("a clear", [&] { table_->clear(); });
  expect_lost("a growth", [&] { table_->reserve(10 * kItems); });
  EXPECT_EQ(fs::file_size(path_), std::uint64_t{512} << 10) << "nothing changes any more";
}

/// The system reads the pages for the copy, and gives no signal.
TEST_P(BusError, EndsASnapshot) {
  cut_short();
  EXPECT_THROW(table_->snapshot(folder_ / "b.hold"), Error);
  EXPECT_FALSE(fs::exists(folder_ / "b.hold"));
}

TEST_P(BusError, EndsBatchesOfAllThreads) {
  std::atomic<unsigned> ended = 0;
  std::vector<std::thread> threads;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::vector<std::byte> own(values_.size());
      try {
        while (std::chrono::steady_clock::now() < deadline) {
          if (i % 2 == 0) {
            table_->insert_or_assign(keys_.data(), own.data(), kItems);
          } else {
            table_->find(keys_.data(), own.data(), kItems);
          }
        }
      } catch (const MediumError&) {
        ++ended;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  cut_short();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 4u);
}

/// The file is whole in the next process, or a clear error.
TEST_P(BusError, LeavesAnErrorBehind) {
  cut_short();
  expect_lost("a search", [&] { table_->find(keys_.data(), values_.data(), kItems); });
  table_.reset();
  EXPECT_THROW(Table::open(path_, {.runtime = {.device = "cpu"}}), PoolCorrupt);
}

/// Two tables of one process: the other one goes on.
TEST_P(BusError, IsOfOnePool) {
  const std::string other_path = folder_ / "other.hold";
  Table other = Table::create(other_path,
                              {.shape = {.value_bytes = GetParam(), .capacity = kItems}, .runtime = {.device = "cpu"}});
  cut_short();
  expect_lost("a search", [&] { table_->find(keys_.data(), values_.data(), kItems); });
  other.insert(keys_.data(), values_.data(), kItems);
  other.sync();
  EXPECT_EQ(other.size(), kItems);
}

using BusErrorDeathTest = BusError;
INSTANTIATE_TEST_SUITE_P(Values, BusErrorDeathTest, testing::Values(8u));

/// A page of nobody's pool, behind the end of its file.
volatile char* page_without_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "w+");
  if (ftruncate(fileno(file), 4096) != 0) std::abort();
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  if (page == MAP_FAILED || ftruncate(fileno(file), 0) != 0) std::abort();
  std::fclose(file);
  return static_cast<volatile char*>(page);
}

TEST_P(BusErrorDeathTest, ElsewhereEndsTheProcessAsEver) {
  table_->close();               // where the pool was mapped, nothing of ours is
#if defined(HOLDFAST_SANITIZED)  // whose handler was there before ours
  EXPECT_DEATH(*page_without_file(folder_ / "x") = 1, "BUS");
  EXPECT_DEATH(raise(SIGBUS), "BUS");
#else
  EXPECT_EXIT(*page_without_file(folder_ / "x") = 1, testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
#endif
}

/// One that a program set before it opened a pool. (Ours is set once in a process, so another process tries it.)
TEST_P(BusErrorDeathTest, ElsewhereGoesToTheHandlerThatWasThere) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "bus_handler_main";
  const int status = std::system((program.string() + " " + folder_ / "c.hold").c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace holdfast::proof
