// jobs.hpp: searches and changes as kernels get them, and what a change reports to the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/operations.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/protocol/run.hpp"

namespace holdfast::gphash::cuda {

/// A search of `size` rows. All pointers are to memory that the GPU can reach.
struct FindJob {
  gphash::Rows rows;
  const std::byte* keys = nullptr;             ///< (n, key_bytes), unaligned
  const std::uint64_t* key_offsets = nullptr;  ///< (n + 1,) of keys of any length, where each begins in `keys`
  const std::uint8_t* mask = nullptr;
  std::uint64_t size = 0;
  DeviceState* state = nullptr;
  std::uint64_t generation = 0;  ///< of a search in a graph, which comes when it likes; 0: one that the host waits for
};

/// What a changing launch could not do.
struct ChangeReport {
  std::uint32_t leftovers;   ///< runs that found no slot or no cell
  std::uint32_t needs_slot;  ///< of them
  std::uint32_t needs_cell;
  std::uint32_t changes;    ///< of a batch in phases: planned
  std::uint32_t freed;      ///< and cells that it took out of their slots
  std::uint32_t sums;       ///< runs whose value is a sum, or is one on the way
  std::uint32_t long_sums;  ///< of them, those of many rows
};

/// A change of rows that are ordered into runs of one key each.
struct ChangeJob {
  gphash::Rows rows;
  OpSet ops;  ///< that rows may ask for
  const std::byte* keys = nullptr;
  const std::uint64_t* key_offsets = nullptr;
  const std::uint8_t* mask = nullptr;  ///< only where there is no order: ordered rows are without the masked ones
  const std::uint32_t* order =
      nullptr;  ///< rows, those of one key together and in array order; null: each row is a run
  const std::uint32_t* begins = nullptr;   ///< of the rows in `order`: the place where the run of its key begins
  const std::uint64_t* ordered = nullptr;  ///< how many rows `order` has; null: `size`
  std::uint64_t size = 0;
  const std::uint32_t* again = nullptr;  ///< only the runs that begin here: leftovers of an earlier launch
  std::uint64_t again_size = 0;
  const std::uint32_t* again_count = nullptr;  ///< how many of them there are, where the host does not know
  gphash::Permits permits;
  bool last_try = false;  ///< the host does not wait for leftovers: what does not fit is `no_space`
  std::uint32_t* leftovers = nullptr;
  ChangeReport* report = nullptr;
  DeviceState* state = nullptr;
  CellRing ring;
};

}  // namespace holdfast::gphash::cuda
