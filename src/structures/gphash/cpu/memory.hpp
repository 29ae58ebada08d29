// memory.hpp: the CPU's memory policy: how the index reads and changes memory on this machine.
//
// Durable words are stored in program order with release stores: in domain `process` that is all (rule 10). With
// kMayFlush lines are written back and fenced before anything relies on them, where the pool's domain asks for it.
// Volatile words are atomics.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/failpoint.hpp"
#include "heap/cells.hpp"
#include "holdfast/blobs.hpp"
#include "pool/medium/persist.hpp"
#include "structures/gphash/host_words.hpp"
#include "structures/gphash/move_log.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash::cpu {

/// What one thread counts while it works; added up at the end of a batch.
struct Tally {
  std::int64_t items = 0;
  std::uint64_t moves = 0;
  std::uint64_t claim_misses = 0;
  std::uint64_t retries = 0;
  std::uint64_t gave_up = 0;  ///< searches that never settled
  std::uint64_t damaged = 0;  ///< rows whose pair is not as it was written
  MoveLog* moved = nullptr;   ///< which items, if an export wants to know
  std::int64_t left = 0;      ///< bytes that variable-length pairs leave of their cells
};

/// `Isa` only keeps code compiled for one instruction set from being linked into another's.
template <class Isa, bool kMayFlush>
class CpuMemory : public HostWords<CpuMemory<Isa, kMayFlush>> {
 public:
  /// Where visible is not yet durable, readers under a claim flush what they saw (rule 11).
  static constexpr bool kReadersFlush = kMayFlush;
  /// Batches may be about a column of the values.
  static constexpr bool kColumns = true;
  /// Reads of pairs say only where the bytes lie, which the driver copies before their cells can be used again.
  static constexpr bool kNotesReads = false;
  /// Slots are read just to know what to prefetch.
  static constexpr bool kLooksAhead = true;

  CpuMemory(const pool::Persist& persist, heap::ThreadCells& cells, Tally& tally)
      : persist_(persist), cells_(cells), tally_(tally) {}

  static constexpr bool keeps(gphash::Step) { return true; }
  static constexpr bool keeps(heap::Step) { return true; }

  std::uint64_t load(const std::uint64_t* word) const { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  void store(std::uint64_t* word, std::uint64_t value) const { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
  /// Both words of an empty slot; a crash may keep one of them, which is as good as none.
  void store_pair(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    store(&slot->key, key);
    HOLDFAST_FAILPOINT(slot_half_written);
    store(&slot->word, word);
  }
  /// Stores to one line become durable in program order on a CPU.
  void order(const gphash::Slot*) const {}
  void flush(const void* address, std::size_t bytes) const {
    if (kMayFlush && persist_.flushes()) persist_.flush(address, bytes);
  }
  void fence() const {
    if (kMayFlush && persist_.flushes()) persist_.fence();
  }
  /// Changes wait for flushes, so that a thread makes several inserts durable together (protocol/added_group.hpp).
  bool settles_in_groups() const { return kMayFlush && persist_.flushes(); }
  // Readers look at the pool itself: there is no copy to keep.
  template <class Word>
  void show_words(std::uint64_t*, unsigned, const Word&) const {}
  void show(gphash::Slot*, std::uint64_t, std::uint64_t) const {}
  void show_word(gphash::Slot*, std::uint64_t) const {}
  void hide(gphash::Slot*) const {}

  std::uint64_t peek(const std::uint64_t* word) const { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  void poke(std::uint64_t* word, std::uint64_t value) const { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
  bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    return __atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  /// One byte of a word that others change by compare-and-swap: x86 keeps such accesses atomic, and theirs then fails.
  void put_byte(std::uint64_t* word, unsigned byte, std::uint8_t, std::uint8_t to) const {
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(word) + byte, to, __ATOMIC_RELEASE);
  }

  // A cell that no slot names belongs to one thread; one that a slot names does not change until no reader can see it.
  void write_bytes(std::byte* cell, const std::byte* from, std::size_t bytes) const {
    if (bytes != 0) std::memcpy(cell, from, bytes);
  }
  void read_bytes(std::byte* to, const std::byte* cell, std::size_t bytes) const {
    if (bytes != 0) std::memcpy(to, cell, bytes);
  }

  // A word of a cell, which is as still as its bytes.
  std::uint64_t load_value(const std::uint64_t* word) const { return *word; }
  void store_value(std::uint64_t* word, std::uint64_t value) const { *word = value; }

  std::uint64_t take_cell(bool adds_key) const { return cells_.take(0, adds_key, nullptr); }
  void return_cell(std::uint64_t cell) const { cells_.give_back(0, cell); }
  void retire_cell(std::uint64_t cell) const { cells_.retire(cell + 1); }

  /// True if a part of a pair has these bytes.
  static bool same_bytes(const std::byte* stored, const std::byte* given, std::size_t bytes) {
    return bytes == 0 || std::memcmp(stored, given, bytes) == 0;
  }
  /// The word for a pair of `bytes` bytes in a fresh cell, or 0.
  template <class Shape>
  std::uint64_t take_pair(const gphash::View<Shape>& view, std::uint32_t bytes, bool adds_key) const {
    const unsigned size_class = heap::class_of(bytes);
    const auto enter = [&](std::uint64_t slab, unsigned c) { heap::enter_slab(*this, view.heap_view(), slab, c); };
    const std::uint64_t begin = cells_.take(size_class, adds_key, enter);
    if (begin == heap::kNoCell) return 0;
    const auto pair = heap::CellWord::of(begin, size_class, bytes);
    tally_.left += pair.left();
    return pair.word;
  }
  void return_pair(std::uint64_t word) const {
    const heap::CellWord pair{word};
    tally_.left -= pair.left();
    cells_.give_back(pair.size_class(), pair.begin());
  }
  void retire_pair(std::uint64_t word) const {
    tally_.left -= heap::CellWord{word}.left();
    cells_.retire(word);
  }

  /// Space for what a read returns, or null: its run holds a claim, so the driver throws later.
  std::byte* take_bytes(Arena& arena, std::size_t bytes) const noexcept {
    try {
      return arena.take(bytes);
    } catch (const std::bad_alloc&) {
      cells_.miss_memory();
      return nullptr;
    }
  }

  void count_items(int change) const { tally_.items += change; }
  void note_move(const gphash::Slot* from, const gphash::Slot* to) const {
    ++tally_.moves;
    if (tally_.moved != nullptr) tally_.moved->add(from, to);
  }
  /// A search begins again: others get the processor first.
  void count_retry() const {
    ++tally_.retries;
    sched_yield();
  }

 private:
  const pool::Persist& persist_;
  heap::ThreadCells& cells_;
  Tally& tally_;
};
static_assert(gphash::OperationMemory<CpuMemory<void, true>, gphash::DefaultVariableShape>);
static_assert(gphash::OperationMemory<CpuMemory<void, false>, gphash::DefaultShape> &&
              heap::SlabMemory<CpuMemory<void, false>>);

}  // namespace holdfast::gphash::cpu
