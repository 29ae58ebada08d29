// shared.hpp: what the children of the subject table share with its oracle: what to do, journals, and what was found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kill/table/plan.hpp"

namespace holdfast::proof::kill {

inline constexpr std::size_t kArena = std::size_t{16} << 20;

/// In a journal's status byte: the key was there before the operation.
inline constexpr std::uint8_t kFoundBit = 0x80;

/// One call in a thread's journal; `n` statuses and then `n` digests of what was read follow it.
struct Entry {
  std::uint64_t number;
  std::uint64_t others_number;  ///< foreign_read: the call that the other thread was at when the read began
  std::uint32_t n;
  std::uint32_t acknowledged;  ///< written last, when the call has returned
};

/// What one calling thread of a writer has begun and finished. Written by that thread alone.
struct alignas(64) Journal {
  std::atomic<std::uint32_t> inside;  ///< 1 while a call runs
  std::atomic<std::uint32_t> full;    ///< the journal has no room; the thread waits for its end
  std::atomic<std::uint64_t> number;  ///< of the call begun last, from 1
  std::atomic<std::uint64_t> used;    ///< bytes of the arena; an entry counts once it is whole
  std::atomic<std::uint32_t> rows;    ///< of the call that runs
  alignas(64) std::byte arena[kArena];
};

/// What a child found where snapshots go.
struct FoundSnapshot {
  std::uint32_t exists;
  std::uint32_t clean;
  std::uint64_t items;
  char errors[512];  ///< of its check, or why it does not open
};

/// Everything found in the table by a child that reopened it. Cleared before, as far as `contained`.
struct Found {
  std::uint64_t size;
  std::uint64_t exported;       ///< items that export gave, counted also where they do not fit below
  std::uint64_t again_differs;  ///< 1: another look a while later saw something else
  std::uint64_t check_items;
  std::uint64_t slots;
  FoundSnapshot snapshot;
  bool contained[kMaxKeys], found[kMaxKeys];
  std::uint64_t exported_keys[kMaxKeys];
  std::byte values[kMaxValues];
  std::byte exported_values[kMaxValues];
  std::uint64_t scores[kMaxKeys];
  std::uint64_t in_snapshot[kMaxKeys];  ///< digests of items (item_digest), 0: absent
};

/// What a writer does of its own accord, beside its plan, to come to a failpoint. It changes no item.
enum class Urge : std::uint32_t { none = 0, grow = 1, sync = 2 };

struct TableShared {
  Round round;
  Urge urge;
  std::uint32_t urge_from;            ///< the call before which it does so first
  std::atomic<std::uint32_t> urged;   ///< a Call that the urge has begun, and that has not returned; 0: none
  std::atomic<std::uint64_t> phased;  ///< batches that the writer's table has changed in phases
  Found found;
  Journal journal[kThreads];
};

}  // namespace holdfast::proof::kill
