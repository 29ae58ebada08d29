// lane.hpp: one thread's queue of operations that wait for their lines. DRAMHiT §3.1 "Prefetch engine".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/combine.hpp"
#include "holdfast/status.hpp"
#include "structures/dramhit/core.hpp"

namespace holdfast::dramhit {

inline constexpr unsigned kMostDepth = 128;
/// Lines that a queue waits for at a time where the caller does not say, how many of a depth it asks for together, and how many
/// operations before it looks at a line it asks for it again, having asked for it in the second-level cache first; kMostDepth: never
/// (docs/internals/dramhit.md, "Queues"; engine.cpp).
inline constexpr unsigned kUsualDepth = 64;
unsigned lines_together(unsigned depth);
unsigned again_before();
/// The same for sums without results: those that wait take in more of their key.
inline constexpr unsigned kDepthOfSums = 96;

/// Operations to submit: rows [next, end) of the caller's arrays.
struct Rows {
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;      ///< or null: zeros
  const std::uint64_t* ids = nullptr;     ///< or null: the row's number
  const std::uint8_t* ops = nullptr;      ///< or null: `op`
  const std::uint8_t* mask = nullptr;     ///< or null: all
  const std::uint64_t* hashes = nullptr;  ///< instead of keys: pairs of a hash and a value (delegation.hpp)
  std::size_t next = 0, end = 0;
  Op op = Op::find;
  Combining with = {};
  unsigned part = 0, parts = 1;  ///< of the rows only those whose hash falls into this part of all
  bool reads_only = false;       ///< no row changes anything, and all are of one operation
  bool silent = false;           ///< no results are wanted
};

/// Where answers go: to the rows that their ids name, or one after another with their ids while there is space.
struct Results {
  std::byte* out = nullptr;         ///< values, or null
  Status* statuses = nullptr;       ///< or null
  bool* found = nullptr;            ///< or null: the key was there before
  std::uint64_t* ids = nullptr;     ///< not null: one after another
  std::size_t space = 0, size = 0;  ///< with `ids`
  std::uint64_t count[kStatuses] = {};
  std::size_t left() const { return ids == nullptr ? ~std::size_t{0} : space - size; }  ///< how many more fit
  /// Ids, values and statuses, one after another, as callers of queues want them.
  bool is_plain() const { return ids != nullptr && out != nullptr && statuses != nullptr && found == nullptr; }
};

class Lane {
 public:
  virtual ~Lane() = default;
  /// Takes rows while there is space for the answers that this brings; moves `rows.next`.
  virtual void submit(Rows& rows, Results& results) = 0;
  /// Answers what waits while there is space. True: nothing waits any more.
  virtual bool flush(Results& results) = 0;
  virtual std::size_t waiting() const = 0;
  /// Items that this lane added less those that it erased; what waits not counted.
  virtual std::int64_t items() const = 0;
  virtual void forget_items() = 0;  ///< they were dropped
};

/// What one instruction set has: lanes, and the mover of a growth.
class Engine : public Mover {
 public:
  virtual const char* tile() const = 0;
  virtual std::unique_ptr<Lane> lane(Core& core, unsigned depth) const = 0;
  /// For the only thread that changes a partition. Null where items have no partitions.
  virtual std::unique_ptr<Lane> owner_lane(Core& core, unsigned depth) const = 0;
  /// Items whose search begins at `line`, with hashes from `from` on, in the order of their hashes: at most `space`.
  virtual std::size_t items_of(const View& view, std::uint64_t line, std::uint64_t from, std::byte* keys,
                               std::byte* values, std::uint64_t* hashes, std::size_t space) const = 0;
  /// Whether there are more items with this hash than stand at the end of `hashes`.
  bool shares_hash(const View& view, std::uint64_t hash, const std::uint64_t* hashes, std::size_t size) const;
};

/// The engine for this CPU (or for HOLDFAST_TILE=portable|avx2|avx512 in the environment) and these items.
const Engine& engine_for(const Format& format);

const Engine& portable_engine();
const Engine& avx2_engine();
const Engine& avx512_engine();
const Engine& wide_engine();

}  // namespace holdfast::dramhit
