// memories.hpp: the memory policies of the measurements: one flushes and waits, the other counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "structures/cache.hpp"
#include "structures/cpu_memory.hpp"
#include "structures/delay.hpp"

namespace holdfast::bench::structures {

using holdfast::structures::CpuMemory;
using holdfast::structures::VersionLock;

/// The CPU's memory, whose flushes are emulated.
class TimedMemory : public CpuMemory {
 public:
  explicit TimedMemory(const Emulation& emulation) : CpuMemory(pool::Persist{}), emulation_(emulation) {}
  void flush(const void* from, std::size_t bytes) const { emulation_.flush(from, bytes); }
  void fence() const { emulation_.fence(); }

 private:
  const Emulation& emulation_;
};
static_assert(pool::PersistentMemory<TimedMemory>);

/// Of operations together.
struct Counted {
  std::uint64_t persists = 0;       ///< fences that have flushes to wait for
  std::uint64_t lines_flushed = 0;  ///< each as often as it is
  std::uint64_t lines_written = 0;  ///< of the table, each once an operation
  std::uint64_t lines_touched = 0;  ///< read or written, each once an operation
  std::uint64_t misses = 0;         ///< of the simulated cache, locks included
};

/// Counts the accesses to one table, [words, words + bytes). One thread uses it.
class Counter {
 public:
  Counter(const void* words, std::size_t bytes)
      : first_(reinterpret_cast<std::uintptr_t>(words)), touched_(bytes / 64 + 1), written_(bytes / 64 + 1) {}

  Counted counted;

  void begin_operation() { ++operation_; }
  void access(const void* address, bool writes = false) {
    counted.misses += cache_.access(address) ? 1 : 0;
    const std::uintptr_t line = (reinterpret_cast<std::uintptr_t>(address) - first_) / 64;
    if (line >= touched_.size()) return;  // a lock
    counted.lines_touched += note(touched_[line]);
    if (writes) counted.lines_written += note(written_[line]);
  }
  void flush(const void* from, std::size_t bytes) {
    pool::each_line(from, bytes, [this](const char* line) {
      ++counted.lines_flushed;
      cache_.flush(line);
    });
    has_flushed_ = true;
  }
  void fence() {
    counted.persists += has_flushed_ ? 1 : 0;
    has_flushed_ = false;
  }

 private:
  unsigned note(std::uint32_t& last) {
    if (last == operation_) return 0;
    last = operation_;
    return 1;
  }

  const std::uintptr_t first_;
  SimulatedCache cache_;
  std::uint32_t operation_ = 1;
  std::vector<std::uint32_t> touched_, written_;  ///< the last operation, by line
  bool has_flushed_ = false;
};

class CountingMemory : public CpuMemory {
 public:
  explicit CountingMemory(Counter& counter) : CpuMemory(pool::Persist{}), counter_(counter) {}
  void prefetch(const void* from) const { counter_.access(from); }
  std::uint64_t load(const std::uint64_t* from) const {
    counter_.access(from);
    return CpuMemory::load(from);
  }
  void store(std::uint64_t* to, std::uint64_t value) const {
    counter_.access(to, true);
    CpuMemory::store(to, value);
  }
  void flush(const void* from, std::size_t bytes) const { counter_.flush(from, bytes); }
  void fence() const { counter_.fence(); }
  std::uint32_t begin_read(const VersionLock* lock) const {
    counter_.access(lock);
    return CpuMemory::begin_read(lock);
  }
  void lock(VersionLock* lock) const {
    counter_.access(lock);
    CpuMemory::lock(lock);
  }

 private:
  Counter& counter_;
};
static_assert(pool::PersistentMemory<CountingMemory>);

}  // namespace holdfast::bench::structures
