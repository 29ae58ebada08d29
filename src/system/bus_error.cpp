// bus_error.cpp: the handler of SIGBUS, and the list of ranges that it may mend. It takes no lock: the list only grows, and a range that
// ended leaves its node to another.
#include "system/bus_error.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "system/calls.hpp"
#include "system/fork.hpp"
#include "system/mapping.hpp"

namespace holdfast::system {

namespace {

/// `begin` is 0 while the rest changes. Never freed: a handler may look at it at any time.
struct MappedRange {
  std::atomic<std::uintptr_t> begin = 0, end = 0;
  std::atomic<std::uint64_t> granule = 0;
  std::atomic<unsigned> generation = 0;  ///< of the process that mapped it: a forked child has no such mapping
  std::atomic<std::atomic<bool>*> lost = nullptr;
  MappedRange* next = nullptr;
};

std::atomic<MappedRange*> ranges = nullptr;
struct sigaction before = {};

/// Puts zeroed memory there: as much as a huge page around the address, so that a file cut short does not cost a mapping a page.
bool put_zeroes(const MappedRange& range, std::uintptr_t begin, std::uintptr_t address) {
  const std::uint64_t unit = std::max(kHugePage, range.granule.load(std::memory_order_relaxed));
  const std::uintptr_t from = begin + (address - begin) / unit * unit;
  const std::uint64_t bytes = std::min<std::uint64_t>(unit, range.end.load(std::memory_order_relaxed) - from);
  auto* const at = reinterpret_cast<std::byte*>(from);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (system::mmap(at, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) return false;
  system::madvise(at, bytes, MADV_DONTFORK);
  return true;
}

bool mend(std::uintptr_t address) {
  for (const MappedRange* range = ranges.load(std::memory_order_acquire); range != nullptr; range = range->next) {
    const std::uintptr_t begin = range->begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= range->end.load(std::memory_order_acquire)) continue;
    std::atomic<bool>* const lost = range->lost.load(std::memory_order_acquire);
    if (range->generation.load(std::memory_order_acquire) != fork_generation()) continue;
    if (range->begin.load(std::memory_order_acquire) != begin) continue;  // it ended, and is another's
    lost->store(true);  // first: a thread that reads the zeroes, or writes there, finds it set
    return put_zeroes(*range, begin, address);
  }
  return false;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  const bool sent = info->si_code <= 0;  // by a process: nothing faults again
  if (before.sa_handler == SIG_IGN && sent) return;
  if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL) return before.sa_handler(signal);
  struct sigaction deadly = {};
  deadly.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &deadly, nullptr);
  if (sent) raise(SIGBUS);  // comes when the handler returns
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool mended = info->si_code > 0 && mend(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (!mended) pass_on(signal, info, context);
  errno = error;
}

/// Once in the life of the process: who sets a handler later passes on what is not its own, or is alone with it.
void install() {
  static const bool installed = [] {
    sigaction(SIGBUS, nullptr, &before);
    struct sigaction mine = {};
    mine.sa_sigaction = on_bus_error;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGBUS, &mine, nullptr) == 0;
  }();
  static_cast<void>(installed);
}

}  // namespace

void watch_bus_errors(std::byte* at, std::uint64_t bytes, std::uint64_t granule, std::atomic<bool>& lost) {
  install();
  const unsigned generation = fork_generation();
  const NoFork one_at_a_time;
  MappedRange* range = ranges.load(std::memory_order_relaxed);
  while (range != nullptr && range->begin.load(std::memory_order_relaxed) != 0) range = range->next;
  if (range == nullptr) {
    range = new MappedRange;
    range->next = ranges.load(std::memory_order_relaxed);
    ranges.store(range, std::memory_order_release);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  range->end.store(begin + bytes, std::memory_order_release);
  range->granule.store(granule, std::memory_order_release);
  range->generation.store(generation, std::memory_order_release);
  range->lost.store(&lost, std::memory_order_release);
  range->begin.store(begin, std::memory_order_release);
}

void end_bus_errors(std::byte* at, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const NoFork one_at_a_time;
  for (MappedRange* range = ranges.load(std::memory_order_relaxed); range != nullptr; range = range->next) {
    const std::uintptr_t from = range->begin.load(std::memory_order_relaxed);
    if (from >= begin && from < begin + bytes) range->begin.store(0, std::memory_order_release);
  }
}

}  // namespace holdfast::system
