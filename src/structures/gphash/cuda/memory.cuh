// memory.cuh: the GPU's memory policy: how the index reads and changes memory on this machine.
//
// Durable words lie in host memory (gpu/host_memory.cuh). Tags, version locks, cells and counts lie in GPU memory and get atomics
// of device scope. What happens in one kind of memory is ordered with what happens in the other, because of:
//
//   store    releases: a counter raised before a slot is cleared, or before it is filled again, is seen by every thread that sees that
//   load     acquires: a reader looks at the counter after the slot that it judges
//   fence    is of system scope: what was stored before is in host memory before anything that follows
//
// Slots that the bucket cache holds are read there, and are changed there by `show`, `show_word` and `hide`, which come when
// the pool's own words are durable. Where it holds only some, each access asks its maps (structures/gphash/protocol/cache_map.hpp).
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "gpu/host_memory.cuh"
#include "gpu/words.cuh"
#include "heap/cuda/ring.cuh"
#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/protocol/cache_map.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"
#include "structures/gphash/protocol/slot.hpp"
#include "structures/gphash/protocol/tags.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash::cuda {

/// All lanes of a warp have equal copies, and count alike; `flush_counts` adds the counts up once a warp.
class CudaMemory : public HostMemory {
 public:
  /// An update, and the zeroes of an erase, can be seen before they have arrived: tags say only where to look. A search that
  /// finds its key under a claim fences, so that what it saw is in host memory before it answers (rule 11).
  static constexpr bool kReadersFlush = true;
  static constexpr bool kColumns = true;
  /// What reads of pairs return is gathered after the kernel (blobs.cu).
  static constexpr bool kNotesReads = true;

  __device__ CudaMemory(DeviceState* state, const CacheView* cache, const CellRing& ring = {})
      : state_(state), cache_(cache), ring_(ring) {}

  __host__ __device__ static constexpr bool keeps(gphash::Step) { return true; }
  __host__ __device__ static constexpr bool keeps(heap::Step) { return true; }

  __device__ std::uint64_t load(const std::uint64_t* word) const {
    if (const std::uint64_t* const copy = copy_of(word)) return peek(copy);
    return HostMemory::load(word);
  }
  /// Both words of an empty slot in one transaction; a crash may keep one of them, which is as good as none. It releases:
  /// a search that reads them sees the version lock raised when the slot was emptied.
  __device__ void store_pair(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    __threadfence();
    HOLDFAST_FAILPOINT_WITHIN(slot_half_written, store_half(slot, key, word));
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(slot), "l"(key), "l"(word) : "memory");
  }
  /// What a crash may leave of a slot.
  __device__ void store_half(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    key % 2 == 0 ? store(&slot->key, key) : store(&slot->word, word);
  }
  __device__ void order(const gphash::Slot*) const { __threadfence_system(); }
  /// Among threads of the GPU, about what lies in its memory.
  __device__ void fence_readers() const { __threadfence(); }

  /// What a search reads first of a slot that may have no copy. Over the link both words come in one request, as they were at
  /// one moment, which is as good as the key, and then the word; of a copy the key alone.
  struct SeenSlot {
    std::uint64_t key = 0, word = 0;
    bool whole = false;  ///< the word is known
  };
  __device__ bool may_read_pool() const { return cache_ == nullptr || cache_->partial(); }
  __device__ SeenSlot see_slot(const gphash::Slot* slot) const {
    SeenSlot seen;
    if (const std::uint64_t* const copy = copy_of(&slot->key)) {
      seen.key = peek(copy);
    } else if (reinterpret_cast<std::uintptr_t>(slot) % sizeof(gphash::Slot) == 0) {
      seen.whole = true;
      asm volatile("{\n\t.reg .b128 both;\n\tld.acquire.sys.b128 both, [%2];\n\tmov.b128 {%0, %1}, both;\n\t}"
                   : "=l"(seen.key), "=l"(seen.word)
                   : "l"(slot)
                   : "memory");
    } else {  // of wide keys, some
      seen.key = SystemWord(const_cast<gphash::Slot*>(slot)->key).load(::cuda::memory_order_acquire);
    }
    return seen;
  }

  /// A word that no thread changes meanwhile: many are asked for at once.
  __device__ std::uint64_t load_still(const std::uint64_t* word) const {
    const std::uint64_t* const copy = copy_of(word);
    return copy != nullptr ? DeviceWord(*const_cast<std::uint64_t*>(copy)).load(::cuda::memory_order_relaxed)
                           : load_value(word);
  }
  /// Both words of a slot that no thread changes meanwhile; not of a wide one.
  __device__ gphash::Slot load_slot(const gphash::Slot* slot) const {
    if (may_read_pool() && copy_of(&slot->key) == nullptr) {
      const ulonglong2 two = load_values(&slot->key);
      return {two.x, two.y};
    }
    return {load_still(&slot->key), load_still(&slot->word)};
  }
  /// A word of an operation's array, which may lie anywhere.
  __device__ static std::uint64_t given_word(const std::byte* from) { return load_user(from, 8); }
  /// True if the `count` words of a slot's wide key are those of the candidates' key. By one thread, two words at a time.
  template <class Candidates>
  __device__ bool same_words(const std::uint64_t* words, const Candidates& candidates, unsigned count) const {
    const std::uint64_t* const copy = copy_of(words);
    bool same = true;
    unsigned i = 0;
    for (; i + 2 <= count && same && count % 2 == 0; i += 2) {
      const ulonglong2 two = copy != nullptr ? peek_two(copy + i) : load_two(words + i);
      same = two.x == candidates.key_word(*this, i) && two.y == candidates.key_word(*this, i + 1);
    }
    for (; i < count && same; ++i)
      same = (copy != nullptr ? peek(copy + i) : load(words + i)) == candidates.key_word(*this, i);
    return same;
  }

  /// True if a part of a pair, which begins at a multiple of 8 bytes, has these bytes. By one thread.
  __device__ bool same_bytes(const std::byte* stored, const std::byte* given, std::size_t bytes) const {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(stored);
    constexpr unsigned kAhead = 4;  // reads of host memory overlap
    bool same = true;
    for (std::size_t at = 0; same && at < bytes; at += 8 * kAhead) {
      std::uint64_t has[kAhead];
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) has[i] = at + 8 * i < bytes ? load_value(words + at / 8 + i) : 0;
#pragma unroll
      for (unsigned i = 0; i < kAhead; ++i) {
        if (at + 8 * i >= bytes) break;
        const std::size_t left = bytes - at - 8 * i;
        if (left < 8) has[i] &= (std::uint64_t{1} << (8 * left)) - 1;
        same = same && has[i] == load_user(given + at + 8 * i, left);
      }
    }
    return same;
  }

  /// `count` words of an empty slot, which its fingerprint makes count later, behind a fence. They are released together, as
  /// those of store_pair.
  template <class Word>
  __device__ void store_words(std::uint64_t* to, unsigned count, const Word& word) const {
    __threadfence();
    in_groups(count, word, [&](unsigned i, std::uint64_t value) {
      store_value(to + i, value);
      HOLDFAST_FAILPOINT(wide_key_half_written);
    });
  }
  /// The copies of such words, before `show`.
  template <class Word>
  __device__ void show_words(std::uint64_t* words, unsigned count, const Word& word) const {
    std::uint64_t* const copy = copy_to(words);
    if (copy == nullptr) return;
    __threadfence();
    in_groups(count, word,
              [&](unsigned i, std::uint64_t value) { DeviceWord(copy[i]).store(value, ::cuda::memory_order_relaxed); });
  }
  // The word comes before the key that makes it count, and goes after it: a search that has read the key reads a word that
  // was there with it, or looks again because of the version lock.
  __device__ void show(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    show_word(slot, word);
    if (std::uint64_t* const copy = copy_to(&slot->key)) poke(copy, key);
  }
  __device__ void show_word(gphash::Slot* slot, std::uint64_t word) const {
    if (std::uint64_t* const copy = copy_to(&slot->word)) poke(copy, word);
  }
  __device__ void hide(gphash::Slot* slot) const {
    if (std::uint64_t* const copy = copy_to(&slot->key)) poke(copy, 0);
  }

  __device__ std::uint64_t peek(const std::uint64_t* word) const {
    return DeviceWord(*const_cast<std::uint64_t*>(word)).load(::cuda::memory_order_acquire);
  }
  __device__ void poke(std::uint64_t* word, std::uint64_t value) const {
    DeviceWord(*word).store(value, ::cuda::memory_order_release);
  }
  __device__ bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    return DeviceWord(*word).compare_exchange_strong(seen, value, ::cuda::memory_order_acq_rel,
                                                     ::cuda::memory_order_acquire);
  }
  // The same of 32 bits: the maps of caches.
  __device__ std::uint32_t peek(const std::uint32_t* word) const {
    return DeviceHalf(*const_cast<std::uint32_t*>(word)).load(::cuda::memory_order_acquire);
  }
  __device__ void poke(std::uint32_t* word, std::uint32_t value) const {
    DeviceHalf(*word).store(value, ::cuda::memory_order_release);
  }
  __device__ bool swap(std::uint32_t* word, std::uint32_t seen, std::uint32_t value) const {
    return DeviceHalf(*word).compare_exchange_strong(seen, value, ::cuda::memory_order_acq_rel,
                                                     ::cuda::memory_order_acquire);
  }
  __device__ void put_byte(std::uint64_t* word, unsigned byte, std::uint8_t from, std::uint8_t to) const {
    HOLDFAST_ASSERT(byte < 8);
    DeviceWord(*word).fetch_add(gphash::byte_change(byte, from, to), ::cuda::memory_order_acq_rel);
  }

  __device__ void add(std::uint64_t* word, std::uint64_t amount) const {
    DeviceWord(*word).fetch_add(amount, ::cuda::memory_order_acq_rel);
  }

  /// A free cell, or kNoCell (heap/cuda/ring.cuh).
  __device__ std::uint64_t take_cell(bool adds_key) const { return heap::cuda::take_cell(*state_, ring_, adds_key); }
  /// A cell that no slot ever named is retired like any other: it is rare.
  __device__ void return_cell(std::uint64_t cell) const { retire_cell(cell); }
  __device__ void retire_cell(std::uint64_t cell) const { heap::cuda::retire_cell(*state_, ring_, cell); }

  /// For drivers that count items themselves.
  __device__ void add_items(int change) const {
    DeviceWord(reinterpret_cast<std::uint64_t&>(state_->items))
        .fetch_add(static_cast<std::uint64_t>(std::int64_t{change}), ::cuda::memory_order_relaxed);
  }
  __device__ void count_items(int change) const { items_ += change; }
  /// Exports do not follow moves on a GPU: they list their keys before (CudaTable::begin_moves).
  __device__ void note_move(const gphash::Slot*, const gphash::Slot*) const { ++moves_; }
  __device__ void count_claim_miss() const { ++claim_misses_; }
  __device__ void count_retry() const { ++retries_; }

  /// Adds what this warp counted to the table's counts. One lane calls it, at the end.
  __device__ void flush_counts() const {
    const auto add_to = [](std::uint64_t& word, std::uint64_t n) {
      if (n != 0) DeviceWord(word).fetch_add(n, ::cuda::memory_order_relaxed);
    };
    add_to(reinterpret_cast<std::uint64_t&>(state_->items), static_cast<std::uint64_t>(std::int64_t{items_}));
    add_to(state_->moves, moves_);
    add_to(state_->claim_misses, claim_misses_);
    report_retries();
  }
  /// Adds the retries of this thread alone, where each counts its own.
  __device__ void report_retries() const {
    if (retries_ != 0) DeviceWord(state_->retries).fetch_add(retries_, ::cuda::memory_order_relaxed);
  }

  /// The copy of a slot's word, for who reads it.
  __device__ std::uint64_t* copy_of(const std::uint64_t* word) const {
    if (cache_ == nullptr) return nullptr;
    return cache_->copy_of(word, [this](std::uint64_t bucket) {
      const auto seen = mapped(bucket);
      last_in_pool_ = !seen.cached();
      if (seen.cached()) return std::uint64_t{seen.position()};
      read_pool_ = true;
      return kNoPosition;
    });
  }
  /// The same for who has written the word, durably.
  __device__ std::uint64_t* copy_to(const std::uint64_t* word) const {
    if (cache_ == nullptr) return nullptr;
    return cache_->copy_of(word, [this](std::uint64_t bucket) {
      if (cache_->buckets.map == nullptr) return kNoPosition;
      const auto seen = gphash::write_through(*this, cache_->buckets.map + bucket);
      return seen.cached() ? std::uint64_t{seen.position()} : kNoPosition;
    });
  }

  /// A slot that has no copy was read since the search began.
  __device__ bool has_read_pool() const { return read_pool_; }
  /// Before a search, or another look.
  __device__ void begin_look() const { read_pool_ = last_in_pool_ = false; }
  /// Of a slot that was read in the pool. False: it has a copy by now, which may be older (gphash::read_stands).
  __device__ bool stands(const gphash::Slot* slot) const {
    if (cache_->buckets.map == nullptr) return true;
    const std::uint64_t bucket = cache_->bucket_of(slot);
    return bucket == kNoPosition || gphash::read_stands(*this, cache_->buckets.map + bucket);
  }
  /// Where the copy of a numbered bucket is, if it has one.
  __device__ gphash::Mapped<std::uint32_t> mapped(std::uint64_t bucket) const {
    if (cache_->buckets.map == nullptr) return {};
    return gphash::mapped(*this, cache_->buckets.map + bucket);
  }
  __device__ const CacheView* cache() const { return cache_; }

 protected:
  mutable bool read_pool_ = false;     ///< a slot that has no copy was read
  mutable bool last_in_pool_ = false;  ///< and so was the last word

 private:
  /// Takes words several at a time, so that their reads overlap, and puts each.
  template <class Word, class Put>
  __device__ static void in_groups(unsigned count, const Word& word, const Put& put) {
    constexpr unsigned kGroup = 6;  // of up to 17 words
    for (unsigned first = 0; first < count; first += kGroup) {
      std::uint64_t values[kGroup];
#pragma unroll
      for (unsigned i = 0; i < kGroup; ++i) values[i] = first + i < count ? word(first + i) : 0;
#pragma unroll
      for (unsigned i = 0; i < kGroup; ++i) {
        if (first + i < count) put(first + i, values[i]);
      }
    }
  }

  // Two neighbouring words, as `load` and `peek` read one.
  __device__ static ulonglong2 load_two(const std::uint64_t* two) {
    ulonglong2 words;
    asm volatile("ld.acquire.sys.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "l"(two) : "memory");
    return words;
  }
  __device__ static ulonglong2 peek_two(const std::uint64_t* two) {
    ulonglong2 words;
    asm volatile("ld.acquire.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "l"(two) : "memory");
    return words;
  }

  DeviceState* state_;
  const CacheView* cache_;  ///< null: as if nothing were cached
  CellRing ring_;
  mutable std::int32_t items_ = 0;
  mutable std::uint32_t moves_ = 0, claim_misses_ = 0, retries_ = 0;
};

static_assert(gphash::OperationTile<WarpTile, CudaMemory, gphash::DefaultShape>);
static_assert(gphash::OperationTile<WarpTile, CudaMemory, gphash::RuntimeShape>);
static_assert(heap::SlabMemory<CudaMemory> && gphash::CacheMapMemory<CudaMemory, std::uint32_t>);

/// The policy of a search by single threads, of buckets that have copies, all or some. What it sees in a copy is durable; for
/// what it has read in the pool, a search that finds its key under a claim fences (rule 11), and asks the maps again.
class CopyMemory : public CudaMemory {
 public:
  using CudaMemory::CudaMemory;

  __device__ void fence() const {
    if (read_pool_) __threadfence_system();
  }
  /// Where the last word that it read was: for a search that has found an item, that of the item.
  __device__ bool found_copy() const { return !last_in_pool_; }
};
static_assert(gphash::SearchMemory<CopyMemory> && gphash::KeyDirectoryMemory<CopyMemory>);

/// The policy of a phase whose changes no thread sees before it has ended (structures/gphash/protocol/phases.hpp): kernel boundaries order it, so that
/// its own accesses need no order, and many are in flight.
class PhaseMemory : public CudaMemory {
 public:
  using CudaMemory::CudaMemory;

  __device__ std::uint64_t load(const std::uint64_t* word) const {
    const std::uint64_t* const copy = copy_of(word);
    return copy != nullptr ? peek(copy) : load_value(word);
  }
  __device__ std::uint64_t peek(const std::uint64_t* word) const {
    return DeviceWord(*const_cast<std::uint64_t*>(word)).load(::cuda::memory_order_relaxed);
  }
  __device__ bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    return DeviceWord(*word).compare_exchange_strong(seen, value, ::cuda::memory_order_relaxed,
                                                     ::cuda::memory_order_relaxed);
  }
  __device__ void store_pair(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    HOLDFAST_FAILPOINT_WITHIN(phase_half_written, store_half(slot, key, word));
    store_values(&slot->key, {key, word});
  }
};
static_assert(gphash::PhasedMemory<PhaseMemory>);

}  // namespace holdfast::gphash::cuda
