// epoch.hpp: one key a call, from one thread, at the least cost.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "holdfast/table.hpp"

namespace holdfast {

/// A thread's stay in a table on the CPU. Calls through it have the operations, statuses, durability and errors of the
/// table's batches, and skip what a batch does to enter and leave: a search writes no shared word and makes no system call.
/// Without an epoch, `Table` takes the same short path for up to 32 rows, and enters and leaves at each call.
///
/// What excludes all calls (growth, `clear`, `sync`, `check`, `close`) waits until this thread makes its next call through
/// the epoch, or passes on to `Table`, or leaves; what excludes changes (snapshots, exports, `erase_if`) does so if the
/// thread has changed the table through the epoch. So leave before the thread waits for anything or does other work.
/// An epoch belongs to the thread that makes it, and keeps the table open; after `Table::close` its calls throw ObjectClosed.
class Epoch {
 public:
  explicit Epoch(Table& table);
  ~Epoch();  ///< leaves
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  /// Lets others exclude this thread, until its next call.
  void leave();

  /// Runs a batch as `Table::run`. With few rows in host memory it takes the short path.
  BatchResult run(const Batch& batch);

  // One key of a fixed length and its value, as bytes. Each throws as `run`.
  bool find(const void* key, void* value);  ///< zeros if it is absent
  bool contains(const void* key);
  Status insert(const void* key, const void* value);  ///< keeps a value that is there
  Status insert_or_assign(const void* key, const void* value);
  Status assign(const void* key, const void* value);
  Status erase(const void* key);
  /// Inserts `value` if the key is absent, and copies the value that it has then.
  Status find_or_insert(const void* key, const void* value, void* result);

  std::uint32_t key_bytes() const;
  std::uint32_t value_bytes() const;

 private:
  bool search(Op op, const void* key, void* value);
  Status change(Op op, const void* key, const void* value, void* result);
  Status run_row(Op op, const void* key, const void* value, void* result);

  const std::shared_ptr<Table::Impl> impl_;
  const unsigned thread_;
};

/// The same for keys and values of two types. Throws InvalidArgument where the table's have another size.
template <class Key, class Value>
requires EqualByBytes<Key> && BytesOfAKey<Key> && StoredAsBytes<Key> && StoredAsBytes<Value>
class TypedEpoch {
 public:
  explicit TypedEpoch(Table& table) : epoch_(table) {
    require("keys", sizeof(Key), epoch_.key_bytes());
    require("values", sizeof(Value), epoch_.value_bytes());
  }
  void leave() { epoch_.leave(); }
  bool find(const Key& key, Value& value) { return epoch_.find(&key, &value); }
  bool contains(const Key& key) { return epoch_.contains(&key); }
  Status insert(const Key& key, const Value& value) { return epoch_.insert(&key, &value); }
  Status insert_or_assign(const Key& key, const Value& value) { return epoch_.insert_or_assign(&key, &value); }
  Status assign(const Key& key, const Value& value) { return epoch_.assign(&key, &value); }
  Status erase(const Key& key) { return epoch_.erase(&key); }
  Status find_or_insert(const Key& key, const Value& value, Value& result) {
    return epoch_.find_or_insert(&key, &value, &result);
  }

 private:
  static void require(const char* what, std::size_t given, std::uint32_t bytes) {
    if (given == bytes) return;
    throw InvalidArgument(
        std::string(what) + " have " + std::to_string(given) + " bytes, and those of the table have " +
        (bytes == kVariableBytes ? "any number" : std::to_string(bytes)) + ": give types of as many, or run a Batch");
  }
  Epoch epoch_;
};

}  // namespace holdfast
