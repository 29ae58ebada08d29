// cpu_table.hpp: threads on one persistent hash table, whatever its scheme: who may change it, and when it grows.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"
#include "structures/cpu_memory.hpp"
#include "structures/persistent_table.hpp"
#include "structures/structure_object.hpp"
#include "threads/use_gates.hpp"

namespace holdfast::structures {

template <class Words>
Words words_at(const void* from) {
  Words words;
  std::memcpy(words.word, from, sizeof words.word);
  return words;
}

/// `Form`: a scheme (form_kind.hpp).
template <class Form, class Item>
class CpuTable final : public Engine {
 public:
  using Key = typename Item::Key;
  using Value = typename Item::Value;
  using Memory = CpuMemory;
  using Table = typename Form::template Table<Item, Memory>;
  using View = typename Form::View;
  using Kind = threads::Inside::Kind;
  static_assert(PersistentTable<Table>);

  explicit CpuTable(std::unique_ptr<StructureObject> object)
      : path_(object->path()), object_(std::move(object)), memory_(object_->persist()), view_(view_now(locks_)) {
    if (object_->was_clean() || object_->read_only()) return;
    if (const std::string what = Form::flaw(memory_, view_); !what.empty()) {
      throw PoolCorrupt(path_ + " is damaged: " + what + "; restore it from a copy");
    }
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
    const threads::Inside inside(gates_, Kind::search);
    require_open();
    Value found = {};
    const Status status = table().find(its_key, found);
    object_->pool().require_whole();
    if (status == Status::found) std::memcpy(value, found.word, sizeof found.word);
    return status;
  }

  std::uint64_t size() override {
    const threads::Inside inside(gates_, Kind::search);
    require_open();
    const std::uint64_t items = table().size();
    object_->pool().require_whole();
    return items;
  }
  std::uint64_t cells() override {
    const threads::Inside inside(gates_, Kind::search);
    require_open();
    return view_.shape.cells();
  }
  void reserve(std::uint64_t cells) override {
    const std::unique_lock alone(gates_.changes);
    require_changeable();
    while (view_.shape.cells() < cells) grow();  // ends: throws NoSpace at 2^40 cells
  }
  void clear() override {
    const std::unique_lock changes(gates_.changes);
    const std::unique_lock uses(gates_.use);
    require_changeable();
    object_->mark_changed();
    Form::template clear<Item>(memory_, view_);
  }

  void export_some(std::uint64_t& cursor, std::vector<std::byte>& keys, std::vector<std::byte>& values) override {
    const threads::Inside inside(gates_, Kind::search);
    require_open();
    const auto append = [](std::vector<std::byte>& to, const auto& words) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(words.word);
      to.insert(to.end(), bytes, bytes + sizeof words.word);
    };
    cursor = table().visit_some(cursor, [&](const Key& key, const Value& value) {
      append(keys, key);
      append(values, value);
    });
    object_->pool().require_whole();
  }

  CheckReport check() override {
    const std::unique_lock alone(gates_.changes);
    require_open();
    CheckReport report = Form::template verify<Item>(memory_, view_);
    report.was_clean = object_->was_clean();
    report.repaired_slots = recovered_.duplicates + recovered_.undone;
    report.repairs = object_->repairs();
    object_->pool().require_whole();
    return report;
  }
  void sync() override {
    const std::unique_lock alone(gates_.changes);
    require_open();
    object_->sync();
  }
  std::unique_ptr<Still> keep_still() override {
    struct NoChanges : Still {
      explicit NoChanges(threads::Gate& changes) : lock(changes) {}
      const std::unique_lock<threads::Gate> lock;
    };
    auto still = std::make_unique<NoChanges>(gates_.changes);
    return object_ ? std::move(still) : nullptr;
  }
  const pool::Object& object() const override { return *object_; }
  Domain domain() override {
    const threads::Inside inside(gates_, Kind::search);
    require_open();
    return object_->kept();
  }

  void close() override {
    const std::unique_lock changes(gates_.changes);
    if (!object_) return;
    const std::unique_lock uses(gates_.use);
    is_open_.store(false, std::memory_order_release);
    const auto object = std::move(object_);  // ends also where its medium has failed
    if (!object->read_only()) object->sync();
  }
  bool is_open() const override { return is_open_.load(std::memory_order_acquire); }

 private:
  Table table() { return {memory_, view_}; }
  View view_of(std::uint16_t index, std::uint64_t* words, VersionLock* locks) const {
    return {Form::shape(object_->header(), index), object_->header().seed, words, locks};
  }
  /// With its locks, all free.
  View view_now(std::vector<VersionLock>& locks) const {
    locks.assign(Form::shape(object_->header(), object_->index()).locks(), 0);
    return view_of(object_->index(), object_->words(), locks.data());
  }
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
      std::uint64_t cells = 0;
      {
        const threads::Inside inside(gates_, Kind::change);
        require_changeable();
        object_->mark_changed(false, 1);
        cells = view_.shape.cells();
        const Status status = change(table());
        object_->pool().require_whole();
        if (status != Status::no_space) return status;
      }
      const std::unique_lock alone(gates_.changes);
      require_open();
      if (view_.shape.cells() != cells) continue;  // another thread was quicker
      try {
        grow();
      } catch (const NoSpace&) {
        return Status::no_space;
      }
    }
  }
  /// The caller keeps writers out; searches continue until the larger table is there.
  void grow() {
    object_->mark_changed();
    object_->grow(
        [&](std::uint16_t index, std::uint64_t* words) {
          return Form::template fill<Item>(memory_, view_, view_of(index, words, nullptr));
        },
        [&] {
          const std::unique_lock alone(gates_.use);
          view_ = view_now(locks_);
        });
  }

  const std::string path_;
  std::unique_ptr<StructureObject> object_;  ///< null: it is closed
  std::atomic<bool> is_open_ = true;
  const Memory memory_;
  std::vector<VersionLock> locks_;
  View view_;
  threads::UseGates gates_;
  Recovered recovered_;
};

}  // namespace holdfast::structures
