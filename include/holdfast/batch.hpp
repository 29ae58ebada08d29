// batch.hpp: operations over arrays, and what they did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "holdfast/blobs.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

/// Operations over arrays, submitted together: the unit of ordering, of cell reuse and of durability. Those on one key, its reads too,
/// take effect in array order.
/// Pointers are all to host memory, or all to memory of the table's device (`on_device`).
struct Batch {
  std::size_t size = 0;  ///< n
  Op op = Op::find;
  const std::uint8_t* ops = nullptr;  ///< (n,) an `Op` each; overrides `op`
  const void* keys = nullptr;         ///< (n, key_bytes)
  const void* values = nullptr;       ///< (n, value_bytes), read by operations that take a value
  void* out = nullptr;                ///< (n, value_bytes), written by operations that read one; absent: zeros
  Status* statuses = nullptr;         ///< (n,) or null
  bool* found = nullptr;              ///< (n,) or null: the key was there before the operation
  std::uint64_t* scores = nullptr;  ///< (n,) or null: of a batch that only searches, the items' scores; 0 where absent
  const std::uint8_t* mask = nullptr;  ///< (n,) or null: 0 skips the operation (`not_run`)
  Combine combine = Combine::add;      ///< for accumulate
  Element element = Element::u64;      ///< for accumulate; value_bytes is a multiple of its size
  double scale = 1;  ///< for accumulate: adds scale × value; not 1 only to add floating-point elements
  /// Not 0: the batch is about bytes [column, column + column_bytes) of each value alone. Rows of `values` and `out` are so
  /// long; the other bytes of a value stay as they are, and are zero for a new key. Of a search these bytes alone are read. On a GPU
  /// columns that begin and end at multiples of 16 bytes are the fastest, and then those at multiples of 8.
  std::uint32_t column = 0, column_bytes = 0;
  // Of variable-length pairs: the bytes of all rows lie one after another in `keys` and `values`, and these say where each begins
  // and the last ends. Results of reads go to `blobs`, in host memory, not to `out`; with `on_device` they can stay in GPU memory.
  // A batch of arrays in GPU memory has ended when `run` returns.
  const std::uint64_t* key_offsets = nullptr;    ///< (n + 1,)
  const std::uint64_t* value_offsets = nullptr;  ///< (n + 1,)
  Blobs* blobs = nullptr;                        ///< or null
  DeviceBlobs* device_blobs = nullptr;           ///< instead, with `on_device`, for at most 2^30 rows
  bool unique = false;                           ///< the caller promises that no key repeats
  bool on_device = false;
  void* stream = nullptr;  ///< a cudaStream_t; durable when the stream gets there
  /// Asked on the calling thread after each piece of the batch, of a hundred thousand rows or so, while changes of the table still wait or
  /// run beside it: it must not use the table. True: the batch leaves the table, and what remains is `not_run` unless `resume`
  /// says otherwise. What others do to the table meanwhile, a snapshot for example, comes between two pieces.
  std::function<bool()> stop;
  /// Called when `stop` said so and nothing of the table is held any more: it may do anything with the table, close it too.
  /// True: go on where the batch stopped. Errors from then on, TableClosed among them, leave what has not run `not_run`.
  std::function<bool()> resume;
};

/// Counts of what a batch did.
struct BatchResult {
  std::uint64_t count[kStatuses] = {};  ///< by Status; not filled in for asynchronous device batches
  bool stopped = false;
  std::uint64_t of(Status s) const { return count[static_cast<unsigned>(s)]; }
};

}  // namespace holdfast
