// device_selection.cuh: erase_if, size_if and export_if with predicates that run on the GPU.
//
//   // Sessions that have ended: `now` is captured, the lambda is compiled into a kernel of yours.
//   auto gone = holdfast::erase_if<std::uint64_t, Visit>(table, stream,
//       [=] __device__(const std::uint64_t& key, const Visit* visit) { return visit->expires < now; });
//
//   // A predicate on the key alone: no value is read.
//   auto even = holdfast::size_if(table, stream, holdfast::by_key([] __device__(const std::uint64_t& key) { return key % 2 == 0; }));
//
//   // One on the key and the score (score.hpp); with `with_score` it also gets the value.
//   auto old = holdfast::erase_if(table, stream,
//       holdfast::by_score([=] __device__(const std::uint64_t&, std::uint64_t step) { return step < now; }));
//
// A predicate is anything that is copied to the GPU and called there: an extended lambda (nvcc --extended-lambda) or a struct with
// `__device__ bool operator()`. It gets
//
//   the key     as a `const Key&`, of the table's key size; or, where Key is void, as a `const void*` to its bytes, in multiples of 8
//   the value   as a `const Value*` to GPU memory; `const std::byte*` if no type is said. Where values have 0 bytes, it means nothing
//   the score   as a std::uint64_t
//
// It is called once for each item, on any thread, in no order, and must not change the item or use the
// table. The host's selections (selection.hpp) do the same on the calling thread, with every backend.
//
// A call sees the table between two changing batches: these, sessions, and everything else that changes
// the table wait until it has returned; searches continue. docs/kernels.md states what each costs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/key_limits.hpp"
#include "holdfast/device_walk.hpp"
#include "holdfast/table.hpp"

namespace holdfast {

/// The items that a predicate examines, and the part of their values that it reads.
struct DeviceSelection {
  const void* first = nullptr;  ///< the least key, in host memory, as in Selection; null: no limit
  const void* last = nullptr;   ///< the greatest, which belongs to the range; null: no limit
  /// Not 0: the predicate reads only bytes [column, column + column_bytes) of each value, and its pointer is
  /// to them. Of values in host memory only the aligned units of 16 or 8 bytes that contain them are read.
  std::uint32_t column = 0, column_bytes = 0;
};

/// A predicate on the key alone.
template <class Predicate>
struct ByKey {
  Predicate predicate;
};
template <class Predicate>
ByKey<Predicate> by_key(const Predicate& predicate) {
  return {predicate};
}

/// A predicate on the key and the score: `predicate(key, score)`.
template <class Predicate>
struct ByScore {
  Predicate predicate;
};
template <class Predicate>
ByScore<Predicate> by_score(const Predicate& predicate) {
  return {predicate};
}

/// A predicate on all of them: `predicate(key, value, score)`.
template <class Predicate>
struct WithScore {
  Predicate predicate;
};
template <class Predicate>
WithScore<Predicate> with_score(const Predicate& predicate) {
  return {predicate};
}

namespace selecting {

/// What a predicate reads, and how it is called.
template <class Predicate>
struct Asking {
  static constexpr bool kReadsValue = true, kReadsScore = false;
  template <class Key, class Value>
  __device__ static bool about(Predicate& predicate, const Key& key, const Value* value, const std::uint64_t*) {
    return predicate(key, value);
  }
};
template <class Predicate>
struct Asking<ByKey<Predicate>> {
  static constexpr bool kReadsValue = false, kReadsScore = false;
  template <class Key, class Value>
  __device__ static bool about(ByKey<Predicate>& by, const Key& key, const Value*, const std::uint64_t*) {
    return by.predicate(key);
  }
};
template <class Predicate>
struct Asking<ByScore<Predicate>> {
  static constexpr bool kReadsValue = false, kReadsScore = true;
  template <class Key, class Value>
  __device__ static bool about(ByScore<Predicate>& by, const Key& key, const Value*, const std::uint64_t* score) {
    return by.predicate(key, *score);
  }
};
template <class Predicate>
struct Asking<WithScore<Predicate>> {
  static constexpr bool kReadsValue = true, kReadsScore = true;
  template <class Key, class Value>
  __device__ static bool about(WithScore<Predicate>& with, const Key& key, const Value* value,
                               const std::uint64_t* score) {
    return with.predicate(key, value, *score);
  }
};

/// Calls the predicate for the item at a place, with its key as a Key or, for void, as bytes.
template <class Key>
struct Ask {
  static_assert(std::is_trivially_copyable_v<Key> && sizeof(Key) % 8 == 0 && sizeof(Key) <= 128,
                "a Key has 8 bytes, or another multiple of 8 up to 128, and is trivially copyable");
  template <class Value, class Predicate>
  __device__ static bool about(Predicate& predicate, const std::uint64_t* words, const Value* value,
                               const std::uint64_t* score) {
    alignas(Key) std::uint64_t copy[sizeof(Key) / 8];
#pragma unroll
    for (unsigned i = 0; i < sizeof(Key) / 8; ++i) copy[i] = words[i];
    return Asking<Predicate>::about(predicate, *reinterpret_cast<const Key*>(copy), value, score);
  }
};
template <>
struct Ask<void> {
  template <class Value, class Predicate>
  __device__ static bool about(Predicate& predicate, const std::uint64_t* words, const Value* value,
                               const std::uint64_t* score) {
    return Asking<Predicate>::about(predicate, static_cast<const void*>(words), value, score);
  }
};

/// A warp examines 1,024 neighbours, several per lane at once, and reserves space in the list once. The selected
/// ones are listed in the order of their places, which is that of their values' addresses if values are read.
template <class Key, class Value, class Predicate>
__global__ void __launch_bounds__(ItemArrays::kThreads)
    choose(ItemArrays items, const __grid_constant__ KeyLimits limits, Predicate predicate) {
  constexpr unsigned kLanes = 32, kAll = 0xffff'ffff, kAtOnce = 4;
  const unsigned lane = threadIdx.x % kLanes, warps = blockDim.x / kLanes;
  unsigned long long counted = 0;
  for (std::uint64_t base = (std::uint64_t{blockIdx.x} * warps + threadIdx.x / kLanes) * kLanes * kLanes;
       base < items.size; base += std::uint64_t{gridDim.x} * warps * kLanes * kLanes) {
    unsigned mine = 0;  // which lanes of round `lane` have chosen
    for (unsigned first = 0; first < kLanes; first += kAtOnce) {
      std::uint64_t head[kAtOnce];
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) {
        const std::uint64_t at = base + (first + i) * kLanes + lane;
        head[i] = at < items.size ? items.heads[at] : 0;
        if (items.words != nullptr && at < items.size && items.words[at] == 0) head[i] = 0;
      }
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) {
        const std::uint64_t at = base + (first + i) * kLanes + lane;
        bool chosen = false;
        if (head[i] != 0) {
          const auto* const key = reinterpret_cast<const std::uint64_t*>(items.keys + at * items.key_bytes);
          const auto* const value = reinterpret_cast<const Value*>(items.values + at * items.value_stride);
          const auto* const score = reinterpret_cast<const std::uint64_t*>(items.scores + at * items.value_stride);
          chosen = (!limits.any() || limits.hold(key)) && Ask<Key>::about(predicate, key, value, score);
        }
        const unsigned votes = __ballot_sync(kAll, chosen);
        if (lane == first + i) mine = votes;
      }
    }
    if (items.chosen == nullptr) {
      counted += __popc(mine);
      continue;
    }
    unsigned before = __popc(mine);
    for (unsigned distance = 1; distance < kLanes; distance *= 2) {
      const unsigned those = __shfl_up_sync(kAll, before, distance);
      if (lane >= distance) before += those;
    }
    const unsigned all = __shfl_sync(kAll, before, kLanes - 1);
    if (all == 0) continue;
    unsigned long long place = lane == 0 ? atomicAdd(items.count, static_cast<unsigned long long>(all)) : 0;
    place = __shfl_sync(kAll, place, 0) + before - __popc(mine);
    for (unsigned round = 0; round < kLanes; ++round) {
      const unsigned votes = __shfl_sync(kAll, mine, round);
      const unsigned long long from = __shfl_sync(kAll, place, round);
      if ((votes >> lane & 1) != 0)
        items.chosen[from + __popc(votes & ((1u << lane) - 1))] =
            static_cast<std::uint32_t>(base + round * kLanes + lane);
    }
  }
  for (unsigned distance = kLanes / 2; distance != 0; distance /= 2)
    counted += __shfl_down_sync(kAll, counted, distance);
  if (lane == 0 && counted != 0) atomicAdd(items.count, counted);
}

template <class Key, class Value, class Predicate>
Chosen walk(Table& table, cudaStream_t stream, const Predicate& predicate, const DeviceSelection& selection,
            WalkPlan plan) {
  static_assert(std::is_trivially_copyable_v<Value> && alignof(Value) <= 16,
                "a Value is trivially copyable, and aligned to at most 16 bytes");
  plan.reads_values = Asking<Predicate>::kReadsValue;
  plan.reads_scores = Asking<Predicate>::kReadsScore;
  plan.first = selection.first;
  plan.last = selection.last;
  plan.column = selection.column;
  plan.column_bytes = selection.column_bytes;
  if constexpr (!std::is_void_v<Key>) plan.key_bytes = sizeof(Key);
  if constexpr (Asking<Predicate>::kReadsValue && !std::is_same_v<Value, std::byte>) {
    plan.value_bytes = std::is_empty_v<Value> ? 0 : sizeof(Value);
    plan.value_align = alignof(Value);
  }
  DeviceWalk items(table, stream, plan);
  const KeyLimits limits(selection.first, selection.last, items.key_bytes());
  for (ItemArrays piece; items.next(piece);)
    choose<Key, Value, Predicate><<<piece.blocks, ItemArrays::kThreads, 0, stream>>>(piece, limits, predicate);
  return items.finish();
}

}  // namespace selecting

// Each waits for `stream`, a stream of the table's GPU, and its earlier work. All throw InvalidArgument
// for a table on the CPU, with keys and values of any length, or without scores if they are requested, for
// a stream that is being captured, and on the thread of an open session of the table; PoolMismatch if Key
// or Value has another size than the table's; ObjectClosed; DeviceError, also if a predicate faults: the
// process can then no longer use the GPU, and the pool is as after a crash, recovered at the next open.

/// Returns the number of items that the predicate selects.
template <class Key = std::uint64_t, class Value = std::byte, class Predicate>
std::uint64_t size_if(Table& table, cudaStream_t stream, const Predicate& predicate,
                      const DeviceSelection& selection = {}) {
  return selecting::walk<Key, Value>(table, stream, predicate, selection, {}).all;
}

/// Copies the selected items to arrays that the table's GPU can access, one after another and in no order, up to `capacity`
/// of them: keys (capacity, key_bytes), values (capacity, value_bytes), and in a table with scores, scores (capacity,);
/// each may be null. `all` is the number of selected items, including those that did not fit, which are not written.
template <class Key = std::uint64_t, class Value = std::byte, class Predicate>
Chosen export_if(Table& table, cudaStream_t stream, const Predicate& predicate, void* keys, void* values,
                 std::uint64_t capacity, const DeviceSelection& selection = {}, std::uint64_t* scores = nullptr) {
  WalkPlan plan;
  plan.purpose = WalkPlan::Purpose::give;
  plan.keys = keys;
  plan.values = values;
  plan.scores = scores;
  plan.capacity = capacity;
  return selecting::walk<Key, Value>(table, stream, predicate, selection, plan);
}

/// Erases the selected items and returns how many. An item does not change between
/// its examination and its erase. Each erase is atomic, and all are durable when it
/// returns; items erased before a crash or an error stay erased. Throws ReadOnly too.
template <class Key = std::uint64_t, class Value = std::byte, class Predicate>
std::uint64_t erase_if(Table& table, cudaStream_t stream, const Predicate& predicate,
                       const DeviceSelection& selection = {}) {
  WalkPlan plan;
  plan.purpose = WalkPlan::Purpose::erase;
  return selecting::walk<Key, Value>(table, stream, predicate, selection, plan).all;
}

}  // namespace holdfast
