// tile.hpp: how a rival's operation is carried out: by one thread, slot after slot, or by the 32 threads of a warp at once.
//
// Both have the same calls, made by all threads of a tile together. `first` and `masks` ask something of each of up to 32
// places; `copy` moves words; `once` does something a single time and tells all what came of it. Host code uses Thread.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define RIVAL_BOTH __host__ __device__
#else
#define RIVAL_BOTH
#endif

namespace holdfast::bench {

/// Two words side by side in host memory: a slot, a pair of a slab.
struct alignas(16) Words {
  std::uint64_t first = 0, second = 0;
};

/// Reads from memory that others change, not from a cache of one multiprocessor; 16 bytes in one request.
RIVAL_BOTH inline Words read(const Words* from) {
#if defined(__CUDA_ARCH__)
  Words words;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(from)
               : "memory");
  return words;
#else
  return *from;
#endif
}

RIVAL_BOTH inline void write(std::uint64_t* to, std::uint64_t value) {
  *static_cast<volatile std::uint64_t*>(to) = value;
}

/// All that this thread wrote is in host memory before it goes on.
RIVAL_BOTH inline void fence_thread() {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
#endif
}

/// Swaps a word; of several threads that do, each gets what the one before it put.
RIVAL_BOTH inline std::uint64_t exchange(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return atomicExch(reinterpret_cast<unsigned long long*>(word), value);
#else
  const std::uint64_t old = *word;
  *word = value;
  return old;
#endif
}

RIVAL_BOTH inline std::uint64_t add(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(reinterpret_cast<unsigned long long*>(word), value);
#else
  const std::uint64_t old = *word;
  *word += value;
  return old;
#endif
}

/// Sets bits of a word in GPU memory; returns what it was.
RIVAL_BOTH inline std::uint32_t set_bits(std::uint32_t* word, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return atomicOr(word, bits);
#else
  const std::uint32_t old = *word;
  *word |= bits;
  return old;
#endif
}

RIVAL_BOTH inline unsigned lowest(std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
#else
  return static_cast<unsigned>(__builtin_ctz(mask));
#endif
}

RIVAL_BOTH inline unsigned ones(std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popc(mask));
#else
  return static_cast<unsigned>(__builtin_popcount(mask));
#endif
}

/// Places that hold what is looked for, and places that are empty: a bit each.
struct Masks {
  std::uint32_t hits = 0, empty = 0;
};

/// What a tile is told of one place.
enum class Match : unsigned { other, hit, empty };

/// One thread, one place after the other.
struct Thread {
  static constexpr unsigned kThreads = 1;

  /// What `read` gives for each of N places, kept by the thread.
  template <unsigned N>
  struct Seen {
    Words words[N];
    RIVAL_BOTH Words at(unsigned i) const { return words[i]; }
  };
  template <unsigned N, class Read>
  RIVAL_BOTH Seen<N> look(const Read& read) const {
    Seen<N> seen;
    for (unsigned i = 0; i < N; ++i) seen.words[i] = read(i);
    return seen;
  }
  template <unsigned N, class Judge>
  RIVAL_BOTH Masks masks(const Seen<N>& seen, const Judge& judge) const {
    return masks<N>([&](unsigned i) { return judge(i, seen.words[i]); });
  }

  /// The words of the first place that `holds`, if any does: it need not look further.
  template <unsigned N, class Read, class Holds>
  RIVAL_BOTH unsigned first(const Read& read, const Holds& holds, Words& found) const {
    for (unsigned i = 0; i < N; ++i) {
      found = read(i);
      if (holds(found)) return i;
    }
    return N;
  }
  template <unsigned N, class Judge>
  RIVAL_BOTH Masks masks(const Judge& judge) const {
    Masks masks;
    for (unsigned i = 0; i < N; ++i) {
      const Match place = judge(i);
      masks.hits |= (place == Match::hit ? 1u : 0u) << i;
      masks.empty |= (place == Match::empty ? 1u : 0u) << i;
    }
    return masks;
  }
  /// From and to places on boundaries of 16 bytes; four requests at a time.
  RIVAL_BOTH void copy(std::uint64_t* to, const std::uint64_t* from, unsigned words) const {
    unsigned i = 0;
    for (; i + 8 <= words; i += 8) {
      const auto* const source = reinterpret_cast<const Words*>(from + i);
      auto* const target = reinterpret_cast<Words*>(to + i);
      const Words some[4] = {source[0], source[1], source[2], source[3]};
      for (unsigned k = 0; k < 4; ++k) target[k] = some[k];
    }
    for (; i < words; ++i) to[i] = from[i];
  }
  RIVAL_BOTH void fence() const { fence_thread(); }
  template <class Do>
  RIVAL_BOTH std::uint64_t once(const Do& act) const {
    return act();
  }
};

#if defined(__CUDACC__)
/// A warp, a place a lane.
struct Warp {
  static constexpr unsigned kThreads = 32;
  static constexpr unsigned kAll = ~0u;

  template <unsigned N>
  struct Seen {
    Words words;
    __device__ Words at(unsigned i) const {
      return {__shfl_sync(kAll, words.first, static_cast<int>(i)),
              __shfl_sync(kAll, words.second, static_cast<int>(i))};
    }
  };
  __device__ static unsigned lane() { return threadIdx.x % 32; }

  template <unsigned N, class Read>
  __device__ Seen<N> look(const Read& read) const {
    Seen<N> seen;
    if (lane() < N) seen.words = read(lane());
    return seen;
  }
  template <unsigned N, class Judge>
  __device__ Masks masks(const Seen<N>& seen, const Judge& judge) const {
    return masks<N>([&](unsigned i) { return judge(i, seen.words); });
  }
  template <unsigned N, class Read, class Holds>
  __device__ unsigned first(const Read& read, const Holds& holds, Words& found) const {
    Seen<N> seen = look<N>(read);
    const std::uint32_t hits = __ballot_sync(kAll, lane() < N && holds(seen.words));
    if (hits == 0) return N;
    found = seen.at(lowest(hits));
    return lowest(hits);
  }
  template <unsigned N, class Judge>
  __device__ Masks masks(const Judge& judge) const {
    const Match place = lane() < N ? judge(lane()) : Match::other;
    Masks masks;
    masks.hits = __ballot_sync(kAll, place == Match::hit);
    masks.empty = __ballot_sync(kAll, place == Match::empty);
    return masks;
  }
  __device__ void copy(std::uint64_t* to, const std::uint64_t* from, unsigned words) const {
    for (unsigned i = lane(); i < words; i += 32) to[i] = from[i];
    __syncwarp();
  }
  /// What any thread of the warp wrote is in host memory before any goes on.
  __device__ void fence() const {
    fence_thread();
    __syncwarp();
  }
  template <class Do>
  __device__ std::uint64_t once(const Do& act) const {
    std::uint64_t got = 0;
    if (lane() == 0) got = act();
    return __shfl_sync(kAll, got, 0);
  }
};
#endif

}  // namespace holdfast::bench
