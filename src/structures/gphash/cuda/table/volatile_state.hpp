// volatile_state.hpp: a table's words in GPU memory, the ring of its free cells, and what the host knows of both without asking.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/caches/cache_maps.hpp"
#include "structures/gphash/cuda/change_order.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/state.hpp"

namespace holdfast::gphash::cuda {

/// What may be in the table when all that is enqueued has run: at most so many items, at least so many free cells.
struct Bounds {
  std::uint64_t items = 0, free_cells = 0;
};

/// The bounds hold, and no more cells are retired than were counted, whenever all that is enqueued has run. The caller of what is not
/// const holds the right to change the table (ChangeOrder::changing).
class VolatileState {
 public:
  explicit VolatileState(const ChangeOrder& order) : order_(order) {}

  DeviceState* words() const { return words_->data(); }
  /// For a graph, which may outlive the table.
  std::shared_ptr<DeviceBuffer<DeviceState>> shared() const { return words_; }

  /// Begins the words anew, without items; `values` and `buckets` are the positions of the caches.
  void begin(PositionState* values, PositionState* buckets, cudaStream_t stream);
  void set_items(std::uint64_t items, cudaStream_t stream);

  /// Returns the words as they are after the last change that is enqueued. Waits.
  DeviceState read() const;
  PositionState read(const CacheMaps& maps) const;
  cudaStream_t reader() const { return reader_; }  ///< the stream that reads

  /// The ring that the next batch uses.
  const CellRing& ring() const { return ring_; }
  /// Takes memory for a ring of so many cells, none of which counts as retired. Its words are the caller's to set.
  void begin_ring(std::uint64_t cells, std::uint64_t reserve);
  /// The same with at least so many, in which nothing is free, and nothing retired. Waits.
  void begin_retired(std::uint64_t capacity, const Stream& stream);
  /// Copies the free cells of a ring without retired ones into a larger one, where all that are added are free. Waits.
  void grow_ring(std::uint64_t cells, std::uint64_t reserve, const Stream& stream);
  /// Frees retired cells that have no reader any more. Waits.
  void settle(const Stream& stream);

  const Bounds& bounds() const { return bounds_; }
  /// A batch is enqueued that adds at most so many keys and takes at most so many cells.
  void expect(std::uint64_t keys, std::uint64_t cells);
  /// Sets the bounds to what the table has. Nothing is enqueued that could change it.
  void note_bounds();

  /// Counts `rows` cells of pairs that a batch may retire. False: the ring might not hold them, and none was counted.
  bool may_retire(std::uint64_t rows);
  /// Counts the cells that are retired in fact. Waits.
  void count_retired();

  /// Of the arrays that searches read. A search in a graph runs only in its own generation.
  std::uint64_t generation() const { return generation_; }
  /// Searches in graphs do nothing from now on. Waits, but not for those that run.
  void end_generation(const Stream& stream);

 private:
  const ChangeOrder& order_;
  const std::shared_ptr<DeviceBuffer<DeviceState>> words_ = std::make_shared<DeviceBuffer<DeviceState>>(1);
  DeviceBuffer<std::uint64_t> ring_cells_;
  CellRing ring_;
  Bounds bounds_;
  std::uint64_t retired_ = 0;  ///< of pairs: at most
  std::uint64_t generation_ = 1;
  mutable std::mutex reading_;  ///< of the words, by their stream
  Stream reader_;
};

}  // namespace holdfast::gphash::cuda
