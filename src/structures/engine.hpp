// engine.hpp: an open persistent hash table on the CPU, whatever its scheme: what the public classes and the pool call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/pool.hpp"
#include "holdfast/status.hpp"
#include "pool/object.hpp"

namespace holdfast::structures {

/// Keys and values are of the sizes that the object has, at any address. Operations are thread-safe. They throw ObjectClosed, and ReadOnly and
/// MediumError as `Object::mark_changed` does. What they acknowledge is durable.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// inserted, exists, or no_space where the medium has none to grow. `is_new`: the caller promises that the key is absent.
  virtual Status insert(const void* key, const void* value, bool is_new) = 0;
  virtual Status find(const void* key, void* value) = 0;
  virtual Status assign(const void* key, const void* value) = 0;
  virtual Status erase(const void* key) = 0;
  virtual std::uint64_t size() = 0;
  virtual std::uint64_t cells() = 0;
  /// Doubles the cells until there are `cells`. Throws NoSpace.
  virtual void reserve(std::uint64_t cells) = 0;
  /// Removes every item, each durably when it returns.
  virtual void clear() = 0;

  /// Appends the items of some cells, and advances `cursor`, which 0 begins and ~0 ends. Growth may come in between: an item that is there
  /// throughout is copied once.
  virtual void export_some(std::uint64_t& cursor, std::vector<std::byte>& keys, std::vector<std::byte>& values) = 0;

  virtual CheckReport check() = 0;
  /// Puts it on its device and marks it clean.
  virtual void sync() = 0;

  /// Keeps changes out as long as it lives. Destroyed by the thread that made it.
  struct Still {
    virtual ~Still() = default;
  };
  /// Null if the table is closed.
  virtual std::unique_ptr<Still> keep_still() = 0;
  /// Of a table that is open, and stays so meanwhile.
  virtual const pool::Object& object() const = 0;
  virtual Domain domain() = 0;

  /// Waits until no thread uses the table, syncs it, and gives its memory back. From then on operations throw ObjectClosed. Idempotent.
  virtual void close() = 0;
  virtual bool is_open() const = 0;

 protected:
  Engine() = default;
};

}  // namespace holdfast::structures
