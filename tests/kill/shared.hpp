// shared.hpp: the memory that oracle and children share. It is the oracle's own, so a child's stores outlive the child.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/failpoint.hpp"
#include "plan.hpp"

namespace holdfast::test::kill {

inline constexpr std::size_t kArena = std::size_t{16} << 20;

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

/// How far the child that opens the pool after a kill has come.
enum class Stage : std::uint32_t { none = 0, ready = 1, opening = 2, open = 3, verified = 4, failed = 5 };

/// Everything found in the pool by a child that reopened it.
struct Found {
  std::uint64_t missing;  ///< 1: there was no pool
  std::uint64_t size;
  std::uint64_t exported;       ///< items that export gave, counted also where they do not fit below
  std::uint64_t again_differs;  ///< 1: another look a while later saw something else
  std::uint64_t check_items;
  std::uint64_t in_use_retries;
  std::uint64_t repaired, moved, rehashed, slots;
  std::uint64_t address;  ///< of a function of this process, to show that addresses differ
  bool contained[kMaxKeys], found[kMaxKeys];
  std::uint64_t exported_keys[kMaxKeys];
  std::byte values[kMaxValues];
  std::byte exported_values[kMaxValues];
  std::uint64_t scores[kMaxKeys];
  char check_errors[2048];
};

/// How a child that verified the pool goes away.
enum class Ending : std::uint32_t { close = 0, exit = 1, wait_for_kill = 2 };

/// What a writer does of its own accord, beside its plan, to come to a failpoint. It changes no item.
enum class Urge : std::uint32_t { none = 0, grow = 1, sync = 2 };

struct Shared {
  alignas(failpoint::kPageBytes) failpoint::Page failpoints;  ///< for children of the build that has some
  alignas(failpoint::kPageBytes) char path[512];
  char device[16];  ///< of the writer
  char recovery_device[16];
  Round round;
  std::uint32_t life;
  std::uint32_t create;    ///< the writer creates the pool, else it opens it
  std::uint32_t again_ms;  ///< the recovering child looks again after so long; 0: it does not
  std::uint32_t wait;      ///< the recovering child waits for `go`
  Ending ending;
  Urge urge;
  std::uint32_t urge_from;             ///< the call before which it does so first
  std::atomic<std::uint32_t> go;       ///< futex: the recovering child may open the pool
  std::atomic<std::uint32_t> stage;    ///< futex: a Stage of the recovering child
  std::atomic<std::uint32_t> writing;  ///< the writer: 1 while it creates or opens, 2 when its threads run
  std::atomic<std::uint64_t> phased;   ///< batches that the writer's table has changed in phases
  std::uint64_t opening_ns, opened_ns;
  char error[1024];  ///< of a child; empty: none
  Found found;
  Journal journal[kThreads];
};

/// Makes the shared memory and returns its descriptor, which children inherit.
Shared* make_shared_memory(int& descriptor);
/// Maps it in a child.
Shared* map_shared_memory(int descriptor);

/// Maps the page of failpoints where they expect it.
void map_failpoints(int descriptor);

/// Waits until `word` is not `value` any more, or `timeout_ms` have passed; returns whether it changed.
bool wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, int timeout_ms);
/// Sets `word` and wakes whoever waits for it, in any process.
void set_and_wake(std::atomic<std::uint32_t>& word, std::uint32_t value);

std::uint64_t now_ns();
/// Stands for a value in a journal; never 0, which stands for an absent key.
std::uint64_t digest(const void* value, std::size_t bytes);

}  // namespace holdfast::test::kill
