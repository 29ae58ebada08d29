// shared.hpp: what the children of the subject pool share with its oracle: what to do, journals, and what was found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kill/pool/plan.hpp"

namespace holdfast::proof::kill {

inline constexpr unsigned kPoolEntries = 4096;
inline constexpr unsigned kMostFound = kMostNames + 4;  ///< objects: more than there may be

/// One call in a thread's journal.
struct PoolEntry {
  PoolCall call;
  std::uint32_t name, to;      ///< numbers of names; `to` of a rename
  std::uint32_t refused;       ///< it answered that there is no such object, or that there is one already
  std::uint64_t seed;          ///< of the shape of a new table, or of the items of a change
  std::uint64_t said;          ///< the number of the new object; of a growth the slots then
  std::uint32_t acknowledged;  ///< written last, when the call has returned
};

/// What one calling thread of a writer has begun and finished. Written by that thread alone.
struct alignas(64) PoolJournal {
  std::atomic<std::uint32_t> inside;  ///< 1 while a call runs
  std::atomic<std::uint32_t> full;    ///< the journal has no room; the thread waits for its end
  std::atomic<std::uint32_t> begun;   ///< calls; an entry counts from then on
  PoolEntry entries[kPoolEntries];
};

/// One object in a pool that was reopened.
struct FoundTable {
  char name[64];
  char damage[128];  ///< why it is no table, or cannot be opened
  std::uint32_t number, key_bytes, value_bytes;
  std::uint64_t slots, size;
  std::uint64_t exported;                 ///< items that export gave
  std::uint64_t foreign;                  ///< of them, those with no key of ours
  std::uint64_t values[kItems];           ///< digests of what find gave, 0 where it found nothing
  std::uint64_t exported_values[kItems];  ///< digests of what export gave last; 0: nothing
};

/// Everything found in the pool by a child that reopened it.
struct PoolFound {
  std::uint32_t objects;        ///< counted also where they do not fit below
  std::uint32_t again_differs;  ///< 1: another look a while later saw something else
  std::uint64_t check_items;
  FoundTable tables[kMostFound];
};

struct PoolShared {
  PoolRound round;
  PoolCall often;                   ///< what a writer calls every other time, to come to a failpoint; none: anything
  std::uint32_t often_from;         ///< from this call on
  std::uint32_t stop_at;            ///< a Failpoint, armed while a call of that kind runs
  std::uint32_t check_first;        ///< the recovering child checks all objects before it opens any
  std::atomic<std::uint64_t> peak;  ///< bytes of all extents, the most there were at once after a call
  PoolFound found;
  PoolJournal journal[kPoolThreads];
};

}  // namespace holdfast::proof::kill
