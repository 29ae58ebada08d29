// layout.cpp: the two layouts, one driver. Buckets are matched with AVX-512 where there is it, else word by word.
#include "memory/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>

#include "frame/anonymous_memory.hpp"
#include "frame/keys.hpp"
#include "frame/timing.hpp"
#include "threads/instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace holdfast::bench {
namespace {

constexpr std::size_t kGroup = 32;  ///< keys prefetched ahead
constexpr std::uint64_t kKeySeed = 7;

/// Eight items of 16 bytes in two lines; both lines hold keys.
struct SideBySide {
  std::uint64_t words[16];
  std::uint64_t& key(unsigned i) { return words[2 * i]; }
  std::uint64_t& value(unsigned i) { return words[2 * i + 1]; }
  static constexpr bool kKeysInOneLine = false;
};

/// The same items, keys in the first line and values in the second.
struct Together {
  std::uint64_t words[16];
  std::uint64_t& key(unsigned i) { return words[i]; }
  std::uint64_t& value(unsigned i) { return words[8 + i]; }
  static constexpr bool kKeysInOneLine = true;
};
static_assert(sizeof(SideBySide) == 128 && sizeof(Together) == 128);

template <class Bucket>
unsigned match_words(Bucket& bucket, std::uint64_t key) {
  unsigned mask = 0;
  for (unsigned i = 0; i < 8; ++i) mask |= static_cast<unsigned>(bucket.key(i) == key) << i;
  return mask;
}

#if defined(__x86_64__)
/// Bit i: slot i holds `key`. For SideBySide the bits of the even words are gathered.
template <class Bucket>
__attribute__((target("avx512f,bmi2"))) unsigned match_avx512(Bucket& bucket, std::uint64_t key) {
  const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(key));
  const unsigned first = _mm512_cmpeq_epi64_mask(_mm512_load_si512(bucket.words), wanted);
  if constexpr (Bucket::kKeysInOneLine) return first;
  const unsigned second = _mm512_cmpeq_epi64_mask(_mm512_load_si512(bucket.words + 8), wanted);
  return _pext_u32(first | second << 8, 0x5555);
}
bool has_avx512() { return threads::instruction_set() == threads::InstructionSet::avx512; }
#else
bool has_avx512() { return false; }
#endif

template <class Bucket, bool kWide>
class Study {
 public:
  Study(Bucket* buckets, std::uint64_t count, unsigned candidates)
      : buckets_(buckets), shift_(64 - std::bit_width(count) + 1), candidates_(candidates) {}

  /// Inserts items [first, last); returns how many found room.
  std::uint64_t insert(std::uint64_t first, std::uint64_t last) {
    std::uint64_t placed = 0;
    for (std::uint64_t item = first; item < last; item += kGroup) {
      const std::size_t n = load_group(item, last, true);
      for (std::size_t g = 0; g < n; ++g) placed += insert_one(group_[g]) ? 1 : 0;
    }
    return placed;
  }

  /// Looks `count` items up, drawn below `bound` and offset by `base`; returns how many were there with their value.
  std::uint64_t find(std::uint64_t base, std::uint64_t bound, std::uint64_t count) {
    Random random(3);
    std::uint64_t found = 0;
    for (std::uint64_t done = 0; done < count; done += kGroup) {
      for (std::size_t g = 0; g < kGroup; ++g) prepare(group_[g], key_of(base + random.below(bound), kKeySeed), false);
      for (std::size_t g = 0; g < kGroup; ++g) locate(group_[g]);
      for (std::size_t g = 0; g < kGroup; ++g) {
        found += group_[g].at != nullptr && *group_[g].at == first_value_word(group_[g].key, 0) ? 1 : 0;
      }
    }
    return found;
  }

 private:
  struct Lookup {
    std::uint64_t key = 0;
    std::array<Bucket*, 4> buckets = {};
    std::uint64_t* at = nullptr;
  };

  static unsigned match(Bucket& bucket, std::uint64_t key) {
#if defined(__x86_64__)
    if constexpr (kWide) return match_avx512(bucket, key);
#endif
    return match_words(bucket, key);
  }

  void prepare(Lookup& lookup, std::uint64_t key, bool write) {
    lookup.key = key;
    for (unsigned c = 0; c < candidates_; ++c) {
      Bucket* bucket = buckets_ + (mix(key + c * kOdd) >> shift_);
      lookup.buckets[c] = bucket;
      if (write) {
        __builtin_prefetch(bucket->words, 1);
        if (!Bucket::kKeysInOneLine) __builtin_prefetch(bucket->words + 8, 1);
      } else {
        __builtin_prefetch(bucket->words);
        if (!Bucket::kKeysInOneLine) __builtin_prefetch(bucket->words + 8);
      }
    }
  }

  /// Finds the slot and asks for its value's line.
  void locate(Lookup& lookup) {
    lookup.at = nullptr;
    for (unsigned c = 0; c < candidates_; ++c) {
      if (const unsigned hits = match(*lookup.buckets[c], lookup.key); hits != 0) {
        lookup.at = &lookup.buckets[c]->value(std::countr_zero(hits));
        if (Bucket::kKeysInOneLine) __builtin_prefetch(lookup.at);
        return;
      }
    }
  }

  std::size_t load_group(std::uint64_t item, std::uint64_t last, bool write) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kGroup, last - item));
    for (std::size_t g = 0; g < n; ++g) prepare(group_[g], key_of(item + g, kKeySeed), write);
    return n;
  }

  bool insert_one(Lookup& lookup) {
    Bucket* best = nullptr;
    unsigned best_empty = 0;
    for (unsigned c = 0; c < candidates_; ++c) {
      const unsigned empty = match(*lookup.buckets[c], 0);
      if (std::popcount(empty) <= std::popcount(best_empty)) continue;
      best = lookup.buckets[c];
      best_empty = empty;
    }
    if (best == nullptr) return false;
    const auto slot = static_cast<unsigned>(std::countr_zero(best_empty));
    best->value(slot) = first_value_word(lookup.key, 0);
    best->key(slot) = lookup.key;
    return true;
  }

  Bucket* buckets_;
  unsigned shift_;
  unsigned candidates_;
  std::array<Lookup, kGroup> group_;
};

template <class Work>
double seconds(Work&& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

template <class Bucket, bool kWide>
LayoutResult measure(std::uint64_t bytes, unsigned candidates, std::uint64_t operations, bool huge_pages) {
  const std::uint64_t count = std::bit_floor(bytes / sizeof(Bucket));
  const AnonymousMemory memory(count * sizeof(Bucket), huge_pages);
  Study<Bucket, kWide> study(memory.as<Bucket>(), count, candidates);
  // One candidate alone overflows early; a part of the keys then finds no room and is not counted as wrong.
  const std::uint64_t items = count * 8 * 3 / 4;
  operations = (operations + kGroup - 1) / kGroup * kGroup;
  LayoutResult result;
  std::uint64_t placed = 0, found = 0, absent = 0;
  result.insert_per_second = static_cast<double>(items) / seconds([&] { placed = study.insert(0, items); });
  result.find_per_second = static_cast<double>(operations) / seconds([&] { found = study.find(0, items, operations); });
  result.absent_per_second =
      static_cast<double>(operations) / seconds([&] { absent = study.find(kAbsentItem, items, operations); });
  result.load_factor = static_cast<double>(placed) / static_cast<double>(count * 8);
  result.wrong = absent + (placed == items ? operations - found : 0);
  return result;
}

}  // namespace

LayoutResult measure_layout(bool together, std::uint64_t bytes, unsigned candidates, std::uint64_t operations,
                            bool huge_pages) {
  if ((candidates != 1 && candidates != 2 && candidates != 4) || bytes < 4096 || operations == 0) {
    throw InvalidArgument("the layout study takes 1, 2 or 4 candidates, at least 4096 bytes and one operation");
  }
#if defined(__x86_64__)
  if (has_avx512()) {
    return together ? measure<Together, true>(bytes, candidates, operations, huge_pages)
                    : measure<SideBySide, true>(bytes, candidates, operations, huge_pages);
  }
#endif
  return together ? measure<Together, false>(bytes, candidates, operations, huge_pages)
                  : measure<SideBySide, false>(bytes, candidates, operations, huge_pages);
}

}  // namespace holdfast::bench
