// log.cuh: logs and transactions inside kernels. GPM §5.2, figure 6.
//
//   insert<<<blocks, threads, 0, stream>>>(holdfast::LogRef(log.handle()), …);
//
// A thread's place follows from its block, warp and lane. The launch may be smaller than the one that the log was made for;
// threads without a place in it get a status that says so. `…_at` functions name a place: any launch can read a log with them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "holdfast/persist.cuh"
#include "holdfast/transaction.hpp"
#include "log/cuda/memory.cuh"

namespace holdfast {

/// A log in kernels. Passed by value. Operations that return ok are durable.
class LogRef {
 public:
  __host__ __device__ explicit LogRef(const LogHandle& handle)
      : view_{{static_cast<log::LogKind>(handle.kind), handle.entry_words, handle.capacity, handle.blocks,
               handle.threads},
              handle.flag,
              handle.tails,
              handle.entries,
              handle.shown,
              handle.holds} {}

  __device__ std::uint64_t places() const { return view_.shape.places(); }
  /// The calling thread's place. Conventional: the partition of its number.
  __device__ std::uint64_t place() const {
    const std::uint64_t block = blockIdx.x + gridDim.x * (blockIdx.y + std::uint64_t{gridDim.y} * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return view_.shape.place(block, thread, blockDim.x * blockDim.y * blockDim.z);
  }

  template <class T>
  __device__ LogStatus insert(const T& entry) const {
    return insert_at(place(), entry);
  }
  template <class T>
  __device__ LogStatus read(T& entry, std::uint32_t back = 0) const {
    return read_at(place(), entry, back);
  }
  __device__ LogStatus remove() const { return remove_at(place()); }
  __device__ LogStatus clear() const { return clear_at(place()); }
  __device__ std::uint32_t count() const { return count_at(place()); }

  template <class T>
  __device__ LogStatus insert_at(std::uint64_t place, const T& entry) const {
    const Words<T> words(entry);
    return hold(place,
                [&](log::CudaMemory& memory) { return log::insert(memory, view_, place, words.word, kWords<T>); });
  }
  template <class T>
  __device__ LogStatus read_at(std::uint64_t place, T& entry, std::uint32_t back = 0) const {
    Words<T> words;
    const LogStatus status = hold(
        place, [&](log::CudaMemory& memory) { return log::read(memory, view_, place, words.word, kWords<T>, back); });
    if (status == LogStatus::ok) std::memcpy(&entry, words.word, sizeof entry);
    return status;
  }
  __device__ LogStatus remove_at(std::uint64_t place) const {
    return hold(place, [&](log::CudaMemory& memory) { return log::remove(memory, view_, place); });
  }
  __device__ LogStatus clear_at(std::uint64_t place) const {
    return hold(place, [&](log::CudaMemory& memory) { return log::clear(memory, view_, place); });
  }
  __device__ std::uint32_t count_at(std::uint64_t place) const {
    log::CudaMemory memory;
    return place < places() ? log::count(memory, view_, place) : 0;
  }

 private:
  friend class TransactionRef;
  template <class T>
  static constexpr std::uint32_t kWords = sizeof(T) / 4;
  template <class T>
  struct Words {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0 && sizeof(T) <= log::kMostEntryBytes,
                  "an entry is trivially copyable and has a multiple of 4 bytes, up to 4,096");
    Words() = default;
    __device__ explicit Words(const T& entry) { std::memcpy(word, &entry, sizeof entry); }
    std::uint32_t word[sizeof(T) / 4];
  };

  /// Conventional: holds the partition exclusively, also against other lanes.
  template <class Act>
  __device__ LogStatus hold(std::uint64_t place, const Act& act) const {
    log::CudaMemory memory;
    if (view_.shape.kind != log::LogKind::conventional || place >= places()) return act(memory);
    LogStatus status = LogStatus::ok;
    for (bool done = false; !done;) {
      if (!log::CudaMemory::try_hold(view_.holds + place)) continue;
      status = act(memory);
      log::CudaMemory::end_hold(view_.holds + place);
      done = true;
    }
    return status;
  }

  log::View<log::CudaMemory> view_;
};

/// A transaction in kernels. Passed by value.
class TransactionRef {
 public:
  __host__ __device__ explicit TransactionRef(const TransactionHandle& handle)
      : log_(handle.log), region_(handle.region), words_(handle.words) {}

  /// Logs the contents of `*where`, and then writes it, both durably. `where` must be in the region, at a
  /// multiple of 4 bytes: otherwise the result is no_place. No other thread may update it in this transaction.
  template <class T>
  __device__ LogStatus update(T* where, const T& value) const {
    constexpr std::uint32_t kSize = LogRef::kWords<T>;
    static_assert(kSize <= log::kMostUpdateWords);
    const auto at = reinterpret_cast<std::uintptr_t>(where) - reinterpret_cast<std::uintptr_t>(region_);
    if (at % 4 != 0 || at / 4 > words_ || kSize > words_ - at / 4) return LogStatus::no_place;
    const LogRef::Words<T> words(value);
    std::uint32_t scratch[kSize + log::kUndoWords];
    const std::uint64_t place = log_.place();
    return log_.hold(place, [&](log::CudaMemory& memory) {
      return log::update(memory, log_.view_, place, region_, at / 4, words.word, kSize, scratch);
    });
  }
  __device__ const LogRef& log() const { return log_; }

 private:
  LogRef log_;
  std::uint32_t* region_;
  std::uint64_t words_;
};

}  // namespace holdfast
