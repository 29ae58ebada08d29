// lifecycle_shortage_test.cpp: every allocation fails once while a pool is made, opened, checked, copied, synced and closed. What is
// there is the old or the new, whole; no memory, descriptor, mapping, lock or file stays; and the pool opens and works.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <string>

#include "items.hpp"
#include "minimum.hpp"
#include "shortage.hpp"
#include "subjects.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr unsigned kPatience = 120;  // seconds, a subject
constexpr std::uint64_t kNew = 1'000, kNewItems = 20;
constexpr Tables kTables = {.value_bytes = 16, .capacity = 8};
const std::string kPool = "/a.hold", kCopy = "/b.hold";

struct Case {
  std::string name;
  std::string subject;  ///< whose pool there is before; empty: none
  bool open;            ///< it is open by then, and was changed
  std::function<void(const std::string& folder, std::optional<Table>& table)> act;
  bool makes = false;  ///< an empty table in place of what was there
};

void open_pool(const std::string& folder, std::optional<Table>& table) {
  table = Table::open(folder + kPool, open_options());
}
void create_pool(const std::string& folder, std::optional<Table>& table) {
  table = Table::create(folder + kPool, create_options(kTables, true));
}
void check_pool(const std::string& folder, std::optional<Table>&) { must_be_in_order(check(folder + kPool)); }
void copy_pool(const std::string& folder, std::optional<Table>& table) {
  SnapshotOptions options;
  options.overwrite = true;
  table->snapshot(folder + kCopy, options);
}

std::vector<Case> cases() {
  return {{"create", "", false, create_pool, true},
          {"create_over", "change", false, create_pool, true},
          {"open", "change", false, open_pool},
          {"open_killed", "open_killed", false, open_pool},
          {"open_resizing", "open_resizing", false, open_pool},
          {"check_killed", "open_killed", false, check_pool},
          {"copy", "change", true, copy_pool},
          {"copy_over", "snapshot_over", true, copy_pool},
          {"sync", "change", true, [](const std::string&, std::optional<Table>& table) { table->sync(); }},
          {"close", "change", true, [](const std::string&, std::optional<Table>& table) { table->close(); }}};
}

class LifecycleShortages : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::filesystem::create_directories(root_ / "before");
    alarm(kPatience);
    if (!GetParam().subject.empty()) make_subject(GetParam().subject)->prepare(root_ / "before");
  }
  void TearDown() override { alarm(0); }

  /// False if the operation needs no more allocations than `at`.
  bool fail(std::int64_t at) {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(root_ / "before", folder_);
    const std::string held = held_now();
    const std::int64_t alive = allocations_alive();
    const bool met = act(at);
    if (at == kNoShortage) return met;  // what is made once is there by now, and stays
    EXPECT_EQ(allocations_alive() - alive, 0) << "memory is left, allocation " << at;
    EXPECT_EQ(held_now(), held) << "it keeps something, allocation " << at;
    EXPECT_EQ(wrong_in_folder(), "") << "allocation " << at;
    return met;
  }

  /// What the table held when nothing failed; and before, where a new one takes its place.
  void learn() {
    if (!GetParam().subject.empty()) before_ = state_of(root_ / "before" + kPool);
    if (before_ && GetParam().open) change_expected();
    after_ = before_;
    if (!GetParam().makes) return;
    after_ = PoolState{};
    after_->made = before_ ? before_->made + 1 : 1;
  }

 private:
  bool act(std::int64_t at) {
    std::optional<Table> table;
    if (GetParam().open) {
      open_pool(folder_, table);
      change(*table);
    }
    const Shortage shortage(at);
    try {
      GetParam().act(folder_, table);
    } catch (const std::bad_alloc&) {
    } catch (const Error&) {
    }
    return shortage.met();
  }

  static void change(Table& table) {
    Items done;
    put_items(table, 5, 15, 2, done);
  }
  void change_expected() {
    for (std::uint64_t key = 5; key < 15; ++key) before_->items[key] = 2;
  }

  /// Of a copy, so that what is opened later is as it was.
  PoolState state_of(const std::string& path) const {
    const std::string copy = root_ / "look.hold";
    std::filesystem::copy_file(path, copy);
    PoolState state;
    std::string wrong;
    {
      Table table = Table::open(copy, open_options());
      state.items = items_of(table, wrong);
    }
    EXPECT_EQ(wrong, "");
    std::filesystem::remove(copy);
    return state;
  }

  /// Descriptors, mappings and locks of this process that are about the folder.
  std::string held_now() const {
    std::string held;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string to = std::filesystem::read_symlink(entry.path(), gone);
      if (to.find(root_.path()) != std::string::npos) held += " descriptor of " + to;
    }
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(root_.path()) != std::string::npos) held += " mapping " + line;
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      if (flock(fd, LOCK_EX | LOCK_NB) != 0) held += " lock on " + entry.path().string();
      ::close(fd);
    }
    return held;
  }

  std::string wrong_in_folder() const {
    std::string wrong;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = "/" + entry.path().filename().string();
      if (name != kPool && name != kCopy) wrong += name + " was left; ";
    }
    const std::string pool = folder_ + kPool, copy = folder_ + kCopy;
    if (std::filesystem::exists(pool)) {
      wrong += wrong_in(pool);
    } else if (before_) {
      wrong += "the pool is gone; ";
    }
    if (std::filesystem::exists(copy)) wrong += wrong_in_copy(copy);
    return wrong;
  }

  /// It holds what the pool does, or what it held before.
  std::string wrong_in_copy(const std::string& path) const {
    const std::string before = root_ / "before" + kCopy;
    const Items items = state_of(path).items;
    if (items == before_->items) return {};
    const bool old = std::filesystem::exists(before) && items == state_of(before).items;
    return old ? "" : "the snapshot is neither old nor new; ";
  }

  /// It holds all that it should, and takes more.
  std::string wrong_in(const std::string& path) const {
    std::string wrong;
    Table table = Table::open(path, open_options());
    wrong += compare(items_of(table, wrong), before_ ? &*before_ : nullptr, &*after_);
    Items added;
    put_items(table, kNew, kNew + kNewItems, 3, added);
    if (added.size() != kNewItems) wrong += "not all fit afterwards; ";
    for (const std::string& error : table.check().errors) wrong += error + "; ";
    return wrong;
  }

  const test::Folder root_;
  const std::string folder_ = root_ / "run";
  std::optional<PoolState> before_, after_;
};

INSTANTIATE_TEST_SUITE_P(System, LifecycleShortages, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });
TEST_P(LifecycleShortages, LeaveTheOldOrTheNewAndNothingElse) {
  std::int64_t at = 0;
  try {
    learn();
    fail(kNoShortage);
    while (fail(at) && !HasFailure()) ++at;
  } catch (const std::exception& error) {
    FAIL() << "allocation " << at << ": " << error.what();
  }
  expect_no_fewer(GetParam().name, at);
}

}  // namespace
}  // namespace holdfast::proof
