// loops_avx512.cpp: the loops, from a store of 8 bytes to what `put` of a MemoryTable's handle does.
#include "dramhit/bare/loops.hpp"
#include "structures/dramhit/protocol/slot_change.hpp"
#include "structures/dramhit/simd/tile_avx512.hpp"

namespace holdfast::bench::bare {
namespace {

using holdfast::dramhit::Avx512Tile, holdfast::dramhit::Geometry, holdfast::dramhit::Line, holdfast::dramhit::Pair;
using Slots = holdfast::dramhit::SlotMemory<Avx512Tile, true>;

enum class How { store, swap };
enum class With { nothing, results, order };  ///< each with what is before it

template <How kHow, With kWith>
[[gnu::noinline]] std::uint64_t run(const Table& table, Thread& mine) {
  Task* const ring = mine.tasks.data();
  unsigned* const sets = mine.sets.data();
  const Geometry geometry = table.geometry;
  Line* const lines = table.lines;
  const std::uint64_t *__restrict keys = mine.keys.data(), *__restrict values = mine.values.data(),
                      *__restrict rows = mine.rows.data();
  std::uint64_t* __restrict ids = mine.ids.data(), * __restrict out = mine.out.data();
  std::uint8_t* __restrict statuses = mine.statuses.data();
  std::uint64_t hashes[kDepth], others = 0;
  unsigned head = 0, tail = 0;
  std::size_t done = 0;
  const auto add = [&](std::size_t row) __attribute__((always_inline)) {
    const std::uint64_t hash = hashes[row % kDepth];
    const auto place = geometry.place(hash);
    Line* const line = lines + place.line;
    holdfast::dramhit::prefetch_to_change<Avx512Tile>(line);
    Task& task = ring[head++ % kRing];
    task = {place.want, line, hash, values[row], rows[row], 1};
  };
  const auto put = [&](const Task& task, unsigned slot) __attribute__((always_inline)) {
    if constexpr (kHow == How::store) {
      __atomic_store_n(&task.line->slots[slot].value, task.given, __ATOMIC_RELEASE);
      return Status::updated;
    }
    Pair seen = Slots::load(task.line, slot);
    // ends: a round fails only if another thread has changed the slot
    while (!Slots::swap(task.line, slot, seen, {seen.word | holdfast::dramhit::kLive, task.given})) {
      seen = Slots::load(task.line, slot);
    }
    return holdfast::dramhit::is_live(seen.word) ? Status::updated : Status::inserted;
  };
  const auto end_one = [&]() __attribute__((always_inline)) {
    for (;;) {  // ends: each key is in some line
      const Task& task = ring[tail++ % kRing];
      if (kWith >= With::order && sets[task.hash % kSets] - tail < head - tail) others += task.state;
      const auto seen = Slots::look(task.line, task.want);
      if (seen.found()) [[likely]] {
        const Status status = put(task, seen.slot());
        if constexpr (kWith >= With::results) {
          ids[done] = task.id;
          out[done] = 0;
          statuses[done] = static_cast<std::uint8_t>(status);
        }
        ++done;
        return;
      }
      if constexpr (kWith >= With::order) sets[task.hash % kSets] = head;
      Task& next = ring[head++ % kRing];
      Line* const line = task.line + 1;
      holdfast::dramhit::prefetch_to_change<Avx512Tile>(line);
      next = {task.want + holdfast::dramhit::kOneLineOn, line, task.hash, task.given, task.id, 0};
    }
  };
  for (std::size_t row = 0; row < kRows; row += kTogether) {
    if (row % kDepth == 0) {
      for (unsigned i = 0; i < kDepth; ++i) hashes[i] = hash_key(keys[row + i], geometry.seed());
    }
    for (unsigned i = 0; row >= kDepth && i < kTogether; ++i) end_one();
    for (unsigned i = 0; i < kTogether; ++i) add(row + i);
  }
  while (head != tail) end_one();
  return others;
}

constexpr Loop kLoops[] = {
    {"a bare loop: a store of 8 bytes", run<How::store, With::nothing>},
    {"the same, and id, status and value as a result", run<How::store, With::results>},
    {"the same, and a look for earlier operations on the key", run<How::store, With::order>},
    {"a bare loop: a swap of 16 bytes", run<How::swap, With::nothing>},
    {"the swap, and a result", run<How::swap, With::results>},
    {"the swap, a result, and a look for earlier operations", run<How::swap, With::order>},
};

}  // namespace

std::span<const Loop> avx512_loops() { return kLoops; }

}  // namespace holdfast::bench::bare
