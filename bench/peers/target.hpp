// target.hpp: what a benchmark drives: a Holdfast table, or a peer behind the same batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/status.hpp"
#include "holdfast/table.hpp"

namespace holdfast::bench {

/// One batch. Pointers are all to host memory, or all to the table's device.
struct Work {
  std::size_t size = 0;
  Op op = Op::find;
  const std::uint8_t* ops = nullptr;    ///< (size,) or null; find, insert, assign, erase; peers more
  const std::uint64_t* keys = nullptr;  ///< (size,)
  const std::byte* values = nullptr;    ///< (size, value_bytes); only rows of operations that take a value count
  std::byte* out = nullptr;             ///< (size, value_bytes)
  Status* statuses = nullptr;           ///< (size,)
  bool unique = false;
  bool on_device = false;
};

class Target {
 public:
  virtual ~Target() = default;
  /// Runs a batch to its end; several threads may call.
  virtual void run(const Work& work) = 0;
  virtual std::string name() const = 0;
  virtual std::uint64_t size() const = 0;
  virtual std::size_t value_bytes() const = 0;
  /// The table behind it, or null.
  virtual Table* table() { return nullptr; }
  /// Between a load and what is timed: puts off nothing that a store would rather do later.
  virtual void settle() {}
  virtual void close() {}
};

/// A Holdfast table made or opened by `create` or `open`.
std::unique_ptr<Target> holdfast_target(Table table);
/// libcuckoo's cuckoohash_map, with room reserved for `capacity` items. Throws InvalidArgument where it is not built in.
std::unique_ptr<Target> libcuckoo_target(std::uint64_t capacity);
/// TBB's concurrent_hash_map, likewise.
std::unique_ptr<Target> tbb_target(std::uint64_t capacity);
/// Boost's concurrent_flat_map, likewise.
std::unique_ptr<Target> boost_target(std::uint64_t capacity);
/// absl::flat_hash_map in 256 shards, each under a lock, likewise.
std::unique_ptr<Target> absl_target(std::uint64_t capacity);
/// Names of the peers that this build has.
std::vector<std::string> peers();

}  // namespace holdfast::bench
