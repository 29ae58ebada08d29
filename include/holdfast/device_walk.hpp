// device_walk.hpp: gives kernels all items of an unchanging table on a GPU, each once, in arrays.
//
// Users include device_selection.cuh, which is built on this. A walk goes through the table piece by piece. The words
// of a piece are in arrays in GPU memory: the table's own copies of its slots if all have one, else data read over the
// link for the piece. Kernels record the places of the selected items, and the walk counts, copies or erases them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast {

class Table;

/// A piece, for a kernel, by value. Places are below `size`; some have no item.
struct ItemArrays {
  std::uint64_t size = 0;
  const std::uint64_t* heads = nullptr;  ///< 0: no item
  const std::uint64_t* words = nullptr;  ///< if not null, 0: no item
  const std::byte* keys = nullptr;       ///< `key_bytes` apart, a multiple of 8
  std::uint32_t key_bytes = 8;
  std::uint32_t value_stride = 8;
  const std::byte* values = nullptr;  ///< `value_stride` apart; null: not requested
  const std::byte* scores = nullptr;  ///< 8 bytes each, at the stride of values; null: not requested
  // Results of kernels. Neither kernel nor caller need clear anything.
  std::uint32_t* chosen = nullptr;      ///< (size,) the places of the selected items; null: only count them
  unsigned long long* count = nullptr;  ///< the number of selected items
  unsigned blocks = 0;                  ///< a good grid for the piece, of kThreads threads a block
  static constexpr unsigned kThreads = 256;
};

/// The purpose and arguments of a walk.
struct WalkPlan {
  enum class Purpose : std::uint8_t { count, give, erase };
  static constexpr std::uint32_t kAnySize = ~std::uint32_t{0};

  Purpose purpose = Purpose::count;
  bool reads_values = false;                     ///< the kernels do
  bool reads_scores = false;                     ///< the same
  const void *first = nullptr, *last = nullptr;  ///< limits of keys, as in Selection; items outside may be omitted
  std::uint32_t column = 0, column_bytes = 0;    ///< not 0: kernels read only these bytes of the values
  std::uint32_t key_bytes = kAnySize;            ///< the size of keys that the kernels expect,
  std::uint32_t value_bytes = kAnySize;          ///< and values, or the bytes of them that they read
  std::uint32_t value_align = 1;                 ///< of them
  void *keys = nullptr,
       *values = nullptr;           ///< give: (capacity, key_bytes) and (capacity, value_bytes); either may be null
  std::uint64_t* scores = nullptr;  ///< give: (capacity,); may be null
  std::uint64_t capacity = 0;
};

/// The result of a selection.
struct Chosen {
  std::uint64_t all = 0;    ///< the number of selected items
  std::uint64_t given = 0;  ///< of them, those in the arrays
  /// Whether the arrays contain all of them.
  bool complete() const { return given == all; }
};

/// One walk. While it exists the table does not change; searches continue.
class DeviceWalk {
 public:
  /// For a table on a GPU with keys and values of fixed length; on `stream`, a cudaStream_t of that GPU.
  /// Sets the thread's device to that of the table while the walk exists. Throws InvalidArgument (also if
  /// scores are requested and the table keeps none), PoolMismatch, ReadOnly, ObjectClosed, DeviceError.
  DeviceWalk(Table& table, void* stream, const WalkPlan& plan);
  ~DeviceWalk();
  DeviceWalk(const DeviceWalk&) = delete;
  DeviceWalk& operator=(const DeviceWalk&) = delete;

  /// Executes the plan for the selected items of the previous piece, and returns the
  /// next piece, which is ready when the stream gets there. False: there are no more.
  bool next(ItemArrays& items);
  /// Call it after the last piece: waits for the stream, and ends the walk. Erases are durable.
  Chosen finish();
  std::uint32_t key_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast
