// batch.hpp: batches of operations over arrays, and their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "holdfast/blobs.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

/// Restricts a batch to bytes [begin, begin + bytes) of each value. Rows of `values` and `out` have that length;
/// the other bytes of a value are unchanged, and zero for a new key. A search reads only these bytes. On a GPU,
/// columns that begin and end at multiples of 16 bytes are the fastest, and then those at multiples of 8.
struct Column {
  std::uint32_t begin = 0, bytes = 0;
};

/// How `accumulate` combines a value with the one that is there.
struct Accumulate {
  Combine combine = Combine::add;
  Element element = Element::u64;  ///< value_bytes is a multiple of its size
  double scale = 1;                ///< adds scale × value; not 1 only to add floating-point elements
};

/// For pairs of any length (strings.hpp packs them): the bytes of all rows follow each other in
/// the batch's `keys` and `values`, and these offsets say where each begins and the last ends.
struct VariableLength {
  const std::uint64_t* key_offsets = nullptr;    ///< (n + 1,)
  const std::uint64_t* value_offsets = nullptr;  ///< (n + 1,), for operations that take a value
  Blobs* blobs = nullptr;                        ///< where results of reads go, in host memory, or null
  DeviceBlobs* device_blobs = nullptr;  ///< instead, in GPU memory: of a batch with `device`, for at most 2^30 rows
};

/// All arrays of the batch are in memory of the table's GPU. A batch of any length ends before `run` returns.
struct Device {
  void* stream = nullptr;  ///< a cudaStream_t; durable when the stream gets there
};

/// Operations over arrays, submitted together: the unit of ordering, of cell reuse and of durability.
/// Operations on one key, reads included, take effect in array order; docs/protocol.md, rule 2, says what reads
/// see if other callers change the key concurrently. Pointers are to host memory, unless there is a `device`.
struct Batch {
  Op op = Op::find;
  std::size_t size = 0;             ///< n
  const void* keys = nullptr;       ///< (n, key_bytes)
  const void* values = nullptr;     ///< (n, value_bytes), read by operations that take a value
  void* out = nullptr;              ///< (n, value_bytes), written by operations that read one; absent: zeros
  Status* statuses = nullptr;       ///< (n,) or null
  bool* found = nullptr;            ///< (n,) or null: the key was there before the operation
  std::uint64_t* scores = nullptr;  ///< (n,) or null: of a batch that only searches, the items' scores; 0 where absent
  const std::uint8_t* mask = nullptr;  ///< (n,) or null: 0 skips the operation (`not_run`)
  /// (n,) or null: an `Op` each; overrides `op`. An invalid code throws InvalidArgument;
  /// in GPU memory, with keys of a fixed length, its row reports `not_run`.
  const std::uint8_t* ops = nullptr;
  bool unique = false;  ///< the caller promises that no key repeats

  std::optional<Column> column = {};            ///< absent: whole values
  std::optional<Accumulate> accumulate = {};    ///< absent: adds u64
  std::optional<VariableLength> variable = {};  ///< present where keys and values are of any length, and nowhere else
  std::optional<Device> device = {};            ///< absent: arrays in host memory

  /// Requests a stop; checked after each piece of at most 131,072 rows a thread of arrays in host
  /// memory. The remaining rows report `not_run`, and `BatchResult::next` is the first of them.
  std::stop_token stop = {};
  /// Called on the calling thread before each check of `stop`, with the number of
  /// finished rows. The batch still uses the table: the function must not use it.
  std::function<void(std::size_t done)> progress = {};
  /// The first row to run. To continue a stopped batch, run it again from its result's `next`, with the same arrays.
  std::size_t from = 0;
};

/// The result of a batch.
struct BatchResult {
  std::uint64_t count[kStatuses] =
      {};                ///< rows from `Batch::from` on by Status; not filled in for asynchronous device batches
  std::size_t next = 0;  ///< rows before this have run, or were skipped by the mask
  bool stopped = false;  ///< before the end of the batch
  std::uint64_t of(Status s) const { return count[static_cast<unsigned>(s)]; }
};

}  // namespace holdfast
