// cpu_table.cpp: threads on one group hashing table: who may change it, and when it grows.
#include "structures/group/cpu_table.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"
#include "structures/cpu_memory.hpp"
#include "structures/group/table.hpp"
#include "structures/group/verify.hpp"
#include "structures/use_gate.hpp"

namespace holdfast::group {

using structures::Alone;
using structures::Inside;
using Gate = structures::Use;  // `Use` says how an object is opened

namespace {

template <class Words>
Words words_at(const void* from) {
  Words words;
  std::memcpy(words.word, from, sizeof words.word);
  return words;
}

template <class Item>
class CpuTable final : public structures::Engine {
 public:
  using Key = typename Item::Key;
  using Value = typename Item::Value;
  using Memory = structures::CpuMemory;
  static_assert(structures::PersistentTable<Table<Item, Memory>>);

  explicit CpuTable(std::unique_ptr<GroupObject> object)
      : path_(object->path()),
        group_size_(object->header().group_size),
        object_(std::move(object)),
        memory_(object_->persist()),
        locks_(object_->shape().groups),
        view_(object_->view(locks_.data())) {
    if (object_->was_clean() || object_->read_only()) return;
    object_->mark_changed();
    recovered_ = table().recover();
  }

  Status insert(const void* key, const void* value, bool is_new) override {
    const auto its_key = words_at<Key>(key);
    const auto its_value = words_at<Value>(value);
    return change(
        [&](auto table) { return is_new ? table.insert_new(its_key, its_value) : table.insert(its_key, its_value); });
  }
  Status assign(const void* key, const void* value) override {
    const auto its_key = words_at<Key>(key);
    const auto its_value = words_at<Value>(value);
    return change([&](auto table) { return table.assign(its_key, its_value); });
  }
  Status erase(const void* key) override {
    const auto its_key = words_at<Key>(key);
    return change([&](auto table) { return table.erase(its_key); });
  }
  Status find(const void* key, void* value) override {
    const auto its_key = words_at<Key>(key);
    const Inside inside(gate_, Gate::read);
    require_open();
    Value found = {};
    const Status status = table().find(its_key, found);
    object_->pool().require_whole();
    if (status == Status::found) std::memcpy(value, found.word, sizeof found.word);
    return status;
  }

  std::uint64_t size() override {
    const Inside inside(gate_, Gate::read);
    require_open();
    const std::uint64_t items = table().size();
    object_->pool().require_whole();
    return items;
  }
  std::uint64_t cells() override {
    const Inside inside(gate_, Gate::read);
    require_open();
    return view_.shape.cells();
  }
  void reserve(std::uint64_t cells) override {
    const Alone alone(gate_, Gate::write);
    require_changeable();
    while (view_.shape.cells() < cells) grow();  // ends: throws NoSpace at 2^40 cells
  }
  void clear() override {
    const Alone changes(gate_, Gate::write);
    const Alone uses(gate_, Gate::read);
    require_changeable();
    object_->mark_changed();
    for (std::uint64_t number = 0; number < view_.shape.groups; ++number) {
      std::uint64_t* const group = view_.group(number);
      for (std::uint32_t w = 0; w < view_.shape.occupancy_words(); ++w) memory_.store(group + w, 0);
      memory_.flush(group, view_.shape.occupancy_words() * 8);
    }
    memory_.fence();
  }

  std::size_t most() const override { return 2 * std::size_t{group_size_}; }
  /// The cursor is the smallest hash of the next group, so it means the same when there are more groups.
  std::size_t export_some(std::uint64_t& cursor, std::byte* keys, std::byte* values) override {
    const Inside inside(gate_, Gate::read);
    require_open();
    const std::uint64_t number = view_.shape.group_of(cursor);
    std::size_t items = 0;
    table().for_each_of_group(number, [&](const Key& key, const Value& value) {
      std::memcpy(keys + items * sizeof key.word, key.word, sizeof key.word);
      std::memcpy(values + items * sizeof value.word, value.word, sizeof value.word);
      ++items;
      return true;
    });
    const bool is_last = number + 1 == view_.shape.groups;
    cursor = is_last ? ~std::uint64_t{0}
                     : (number + 1) << (64 - static_cast<unsigned>(std::countr_zero(view_.shape.groups)));
    object_->pool().require_whole();
    return items;
  }

  CheckReport check() override {
    const Alone alone(gate_, Gate::write);
    require_open();
    CheckReport report = verify<Item>(memory_, view_);
    report.was_clean = object_->was_clean();
    report.repaired_slots = recovered_.duplicates;
    report.repairs = object_->repairs();
    object_->pool().require_whole();
    return report;
  }
  void sync() override {
    const Alone alone(gate_, Gate::write);
    require_open();
    object_->sync();
  }
  std::unique_ptr<Still> keep_still() override {
    struct NoChanges : Still {
      explicit NoChanges(structures::UseGate& gate) : alone(gate, Gate::write) {}
      const Alone alone;
    };
    auto still = std::make_unique<NoChanges>(gate_);
    return object_ ? std::move(still) : nullptr;
  }
  const memory::Object& object() const override { return *object_; }
  Domain domain() override {
    const Inside inside(gate_, Gate::read);
    require_open();
    return object_->kept();
  }

  void close() override {
    const Alone changes(gate_, Gate::write);
    if (!object_) return;
    if (!object_->read_only()) object_->sync();
    const Alone uses(gate_, Gate::read);
    is_open_.store(false, std::memory_order_release);
    object_.reset();
  }
  bool is_open() const override { return is_open_.load(std::memory_order_acquire); }

 private:
  Table<Item, Memory> table() { return {memory_, view_}; }
  void require_open() const {
    if (!object_) throw ObjectClosed(path_ + " is closed: open it again");
  }
  void require_changeable() const {
    require_open();
    object_->pool().require_kept();
  }

  /// Does a change, growing the table as often as it finds no cell.
  template <class Change>
  Status change(const Change& change) {
    for (;;) {  // ends: the table has more cells each time, or throws NoSpace
      std::uint64_t groups = 0;
      {
        const Inside inside(gate_, Gate::write);
        require_changeable();
        object_->mark_changed(false, 1);
        groups = view_.shape.groups;
        const Status status = change(table());
        object_->pool().require_whole();
        if (status != Status::no_space) return status;
      }
      const Alone alone(gate_, Gate::write);
      require_open();
      if (view_.shape.groups != groups) continue;  // another thread was quicker
      try {
        grow();
      } catch (const NoSpace&) {
        return Status::no_space;
      }
    }
  }
  /// The caller keeps writers out; searches continue until the new groups are there.
  void grow() {
    std::vector<VersionLock> locks;
    object_->mark_changed();
    object_->grow(
        [&](const View& larger) {
          locks.assign(larger.shape.groups, 0);
          return fill<Item>(memory_, view_, larger);
        },
        [&](const Shape&) {
          const Alone alone(gate_, Gate::read);
          locks_.swap(locks);
          view_ = object_->view(locks_.data());
        });
  }

  const std::string path_;
  const std::uint32_t group_size_;
  std::unique_ptr<GroupObject> object_;  ///< null: it is closed
  std::atomic<bool> is_open_ = true;
  const Memory memory_;
  std::vector<VersionLock> locks_;
  View view_;
  structures::UseGate gate_;
  structures::Recovered recovered_;
};

}  // namespace

std::unique_ptr<structures::Engine> make_cpu_table(std::unique_ptr<GroupObject> object) {
  if (object->header().item_bytes == structures::Item16::kBytes) {
    return std::make_unique<CpuTable<structures::Item16>>(std::move(object));
  }
  return std::make_unique<CpuTable<structures::Item32>>(std::move(object));
}

}  // namespace holdfast::group
