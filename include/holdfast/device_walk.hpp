// device_walk.hpp: the items of a table on a GPU, side by side and held still, so that kernels can look at each once.
//
// device_selection.cuh is made of this: include that. A walk goes through the table piece by piece. The words of a piece lie in arrays in
// GPU memory: the table's own copies of its slots where it has them all, else what was read over the link for the piece. Kernels note
// the places of the items that they choose, and the walk counts, copies or erases those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast {

class Table;

/// A piece, for a kernel, by value. Places are below `size`; not at each is an item.
struct ItemArrays {
  std::uint64_t size = 0;
  const std::uint64_t* heads = nullptr;  ///< 0: no item
  const std::uint64_t* words = nullptr;  ///< if not null, 0: no item
  const std::byte* keys = nullptr;       ///< `key_bytes` apart, a multiple of 8
  std::uint32_t key_bytes = 8;
  std::uint32_t value_stride = 8;
  const std::byte* values = nullptr;  ///< `value_stride` apart; null: they were not asked for
  const std::byte* scores = nullptr;  ///< 8 bytes each, at the stride of values; null: they were not asked for
  // Where kernels answer. Neither kernel nor caller need clear anything.
  std::uint32_t* chosen = nullptr;  ///< (size,) the places of the items that were chosen; null: they are counted alone
  unsigned long long* count = nullptr;  ///< how many these are
  unsigned blocks = 0;                  ///< a good grid for the piece, of kThreads threads a block
  static constexpr unsigned kThreads = 256;
};

/// What a walk is for.
struct WalkPlan {
  enum class Purpose : std::uint8_t { count, give, erase };
  static constexpr std::uint32_t kAnySize = ~std::uint32_t{0};

  Purpose purpose = Purpose::count;
  bool reads_values = false;                     ///< the kernels do
  bool reads_scores = false;                     ///< the same
  const void *first = nullptr, *last = nullptr;  ///< limits of keys, as in Selection; what lies beyond may be left out
  std::uint32_t column = 0, column_bytes = 0;    ///< not 0: of the values, kernels read these bytes alone
  std::uint32_t key_bytes = kAnySize;            ///< what the kernels think that keys have,
  std::uint32_t value_bytes = kAnySize;          ///< and values, or the bytes of them that they read
  std::uint32_t value_align = 1;                 ///< of them
  void *keys = nullptr,
       *values = nullptr;           ///< give: (capacity, key_bytes) and (capacity, value_bytes); either may be null
  std::uint64_t* scores = nullptr;  ///< give: (capacity,); may be null
  std::uint64_t capacity = 0;
};

/// What became of the items that a selection means.
struct Chosen {
  std::uint64_t all = 0;    ///< how many they are
  std::uint64_t given = 0;  ///< of them, those in the arrays
  /// The arrays hold all of them.
  bool complete() const { return given == all; }
};

/// One walk. From its beginning to its end nobody changes the table; searches go on.
class DeviceWalk {
 public:
  /// Of a table on a GPU with keys and values of fixed length; on `stream`, a cudaStream_t of that GPU. The thread's device is the
  /// table's as long as the walk lives. Throws InvalidArgument (where the table keeps no scores that are asked for, too), PoolMismatch,
  /// ReadOnly, TableClosed, DeviceError.
  DeviceWalk(Table& table, void* stream, const WalkPlan& plan);
  ~DeviceWalk();
  DeviceWalk(const DeviceWalk&) = delete;
  DeviceWalk& operator=(const DeviceWalk&) = delete;

  /// The next piece, which is there when the stream is, and does with what was chosen of the one before what the plan says. False: there
  /// are no more.
  bool next(ItemArrays& items);
  /// After the last piece: waits for the stream, and ends the walk. What was erased is durable.
  Chosen finish();
  std::uint32_t key_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast
