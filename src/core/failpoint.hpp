// failpoint.hpp: named places at which a program made for the kill test stops, to be killed there. Shipped builds have none of it.
//
// Where HOLDFAST_FAILPOINTS is defined, a thread that passes the armed failpoint says so in a page that it shares with the process that
// is to kill it, and waits. The page lies at a fixed address, for the GPU too, so nothing has to be handed through the layers.
#pragma once

#include <cstdint>

namespace holdfast {

/// What has just been done, and what has not.
enum class Failpoint : std::uint32_t {
  none,
  // Slots (structures/gphash/protocol/commit.hpp, run.hpp).
  value_placed,            ///< a value is in its cell, durably, and no slot names it
  slot_half_written,       ///< one of the two words of a slot that names a cell
  value_before_key,        ///< the value in a slot, and not its key
  wide_key_half_written,   ///< some of the words behind a fingerprint
  key_before_fingerprint,  ///< all of them, durably, and not the fingerprint
  slot_committed,          ///< a slot, durably; it is not published
  word_swapped,            ///< an update, durably; the old cell is not retired
  slot_half_cleared,       ///< one of the two words of a slot that named a cell
  slot_cleared,            ///< an erase, durably; the counter is not raised
  slab_entered,            ///< the class of a slab; no slot names a cell of it
  // One item that moves (structures/gphash/protocol/move.hpp).
  move_copied,   ///< its copy, durably; the old slot is not cleared
  move_cleared,  ///< the old slot; the counter is not raised
  // Resizing (structures/gphash/protocol/rehash.hpp, gphash/table_object.cpp).
  level_allocated,  ///< space for a level that no directory names
  level_added,      ///< a level, in the directory; nothing is rehashed
  rehash_copied,    ///< an item's copy above; it is below still
  level_drained,    ///< all of a level; it is not released
  level_released,   ///< a level
  // Batches in phases, on a GPU (structures/gphash/protocol/phases.hpp).
  phase_placed,        ///< all values; no slot is written
  phase_half_written,  ///< one of the two words of slots that are written
  phase_half_done,     ///< what stands before keys or fingerprints; those are not written
  phase_committed,     ///< all slots; nothing is published
  // The pool (pool/).
  heap_allocated,       ///< space for cells that no directory names
  directory_written,    ///< a directory that no superblock names yet, durably
  copy_half_written,    ///< copy A of a superblock or an object's page, durably, and not copy B
  mark_cleared,         ///< the clean mark; nothing has changed yet
  synced_without_mark,  ///< the data is on its device, the clean mark is not set
  pool_unnamed,         ///< a pool that is whole, under its temporary name
  // Calls about a whole table or pool (structures/gphash/cpu/cpu_growth.cpp, pool/snapshot.cpp).
  level_emptied,      ///< all slots of a level, by clear; those of others are not, on a CPU
  snapshot_headless,  ///< a snapshot's objects; it has no superblock
  snapshot_unnamed,   ///< a snapshot that is whole, on its device, under its temporary name
  name_given,         ///< a pool's or a snapshot's own name; what it replaced has the temporary one
  // Recovery (structures/gphash/protocol/recover.hpp).
  torn_half_cleared,  ///< one of the two words of a half-written slot
  copy_dropped,       ///< the second copy of an item; the rest is not looked at yet
  // Checkpoints (checkpoint/save.hpp, saving.cpp).
  state_withdrawn,  ///< the copy that is to be written counts no more, durably
  state_copied,     ///< the tensors are in it, and not its checksums
  state_filled,     ///< it is whole, durably; the word does not name it
  state_switched,   ///< the word names it, durably; the save is not acknowledged
  // Logs and transactions (log/protocol/).
  entry_stored,         ///< an entry, durably; its tail does not count it
  tail_stored,          ///< a place's tail, durably; the call is not acknowledged
  log_half_cleared,     ///< the tail of one place; those of others are not
  flag_raised,          ///< a transaction's flag, durably; nothing is updated
  update_half_written,  ///< some of the words of an update, whose old content is logged
  location_updated,     ///< an update, durably; the transaction has not ended
  flag_cleared,         ///< the flag of a transaction that counts, durably; its log is not cleared
  location_undone,      ///< a location has its old content, durably; the entry that has it is there still
  batch_undone,         ///< all updates are undone, durably; the flag stands
  // Group hashing (structures/group/).
  cell_filled,        ///< an item in a free cell, durably; its bit is clear
  bit_set,            ///< the bit of an insert, durably; the insert is not acknowledged
  bit_cleared,        ///< the bit of an erase, durably; the erase is not acknowledged
  value_replaced,     ///< a value in place, durably; the assignment is not acknowledged
  both_bits_set,      ///< the bit of an assignment's second cell, durably; the first is occupied still
  duplicate_cleared,  ///< in recovery: the second cell of an interrupted assignment
  // Linear probing, PFHT, path hashing with an undo log (structures/cells/).
  undo_logged,    ///< an entry, durably; the cells are as they were
  cells_changed,  ///< the cells, durably; the entry is not void
  entry_void,     ///< the void entry, durably; the change is not acknowledged, or has items to move
  change_undone,  ///< in recovery: the cells, durably; the entry is not void
  // All persistent hash tables.
  larger_filled,     ///< a larger table, durably; the directory names the old one
  larger_committed,  ///< the directory names it; the old one is mapped still
  // The store (store/protocol/, store/store_object.cpp).
  item_vacated,        ///< the number of a free cell is zero; nothing else of it is written
  item_filled,         ///< an item's content and state, durably; its number is zero
  item_committed,      ///< its number too; the index names the one that it replaces
  item_exchanged,      ///< the index names it; the one that it replaces lives
  item_killed,         ///< a replaced, erased or evicted item is dead, durably; its cell is not free
  state_replaced,      ///< an item's expiry, durably; the touch is not acknowledged
  piece_half_zeroed,   ///< half the lines of a piece that is to change its class
  piece_zeroed,        ///< all of them, durably; its entry names the old class
  piece_entered,       ///< its entry names the new class, durably; no item is in it
  numbers_reserved,    ///< a block of numbers, durably; none is drawn
  time_kept,           ///< a time, durably; no answer depends on it
  flush_half_written,  ///< which items are flushed, and not that the plan is done
  items_flushed,       ///< both, durably; searches do not know it
  flush_planned,       ///< a flush in the future, durably; searches do not know it
  directories_zeroed,  ///< the heap's directories, durably; the record does not count them
  count
};

namespace failpoint {

/// Shared by the process that stops and the one that kills it. Armed before the first starts, or while it runs.
struct Page {
  std::uint32_t armed;    ///< a Failpoint
  std::uint32_t skipped;  ///< so many threads pass it first
  std::uint32_t all;      ///< not 0: those that come after the one that stops do so too
  std::uint32_t passed;   ///< threads of the host that have
  std::uint32_t stopped;  ///< not 0: a thread waits to be killed
};

/// Where the page is mapped, and registered with CUDA, before anything else is called.
inline constexpr std::uintptr_t kPageAddress = 0x2000'0000'0000;
inline constexpr unsigned kPageBytes = 4096;

}  // namespace failpoint
}  // namespace holdfast

#ifdef HOLDFAST_FAILPOINTS

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "core/both.hpp"

namespace holdfast::failpoint {

HOLDFAST_BOTH inline Page& page() { return *reinterpret_cast<Page*>(kPageAddress); }

#ifdef __CUDACC__
/// Threads of the GPU that have passed; in its memory, for host memory gets no atomics (rule 13). One a source file.
__device__ inline unsigned count_pass() {
  static __device__ unsigned passed;
  return atomicAdd(&passed, 1u);
}
#endif

/// True if the thread that calls is to stop there.
HOLDFAST_BOTH inline bool stops(Failpoint at) {
#ifdef __CUDA_ARCH__
  if (*static_cast<volatile std::uint32_t*>(&page().armed) != static_cast<std::uint32_t>(at)) return false;
  const std::uint32_t before = count_pass();
#else
  if (std::atomic_ref(page().armed).load(std::memory_order_relaxed) != static_cast<std::uint32_t>(at)) return false;
  const std::uint32_t before = std::atomic_ref(page().passed).fetch_add(1, std::memory_order_relaxed);
#endif
  return page().all != 0 ? before >= page().skipped : before == page().skipped;
}

/// Waits to be killed, a minute at most. What was stored before is in host memory. Not inlined: it is in many places.
HOLDFAST_BOTH inline __attribute__((noinline)) void stop() {
#ifdef __CUDA_ARCH__
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(&page().stopped) = 1;
#pragma unroll 1
  for (int i = 0; i < 60'000; ++i) __nanosleep(1'000'000);
  __trap();
#else
  std::atomic_ref(page().stopped).store(1, std::memory_order_seq_cst);
  for (int i = 0; i < 600; ++i) usleep(100'000);
  std::abort();
#endif
}

HOLDFAST_BOTH inline void pass(Failpoint at) {
  if (stops(at)) stop();
}

}  // namespace holdfast::failpoint

/// A place at which a thread may stop.
#define HOLDFAST_FAILPOINT(name) ::holdfast::failpoint::pass(::holdfast::Failpoint::name)
/// The same in the middle of one store, of which a crash may leave a part: `leave` that before it stops.
#define HOLDFAST_FAILPOINT_WITHIN(name, leave)                       \
  do {                                                               \
    if (::holdfast::failpoint::stops(::holdfast::Failpoint::name)) { \
      leave;                                                         \
      ::holdfast::failpoint::stop();                                 \
    }                                                                \
  } while (false)

#else

#define HOLDFAST_FAILPOINT(name) static_cast<void>(0)
#define HOLDFAST_FAILPOINT_WITHIN(name, leave) static_cast<void>(0)

#endif
