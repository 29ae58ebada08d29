// lock.hpp: holds a version lock, and reads what it guards without it.
#pragma once

#include <cstdint>

#include "structures/persistent_memory.hpp"

namespace holdfast::structures {

/// Holds a version lock for a scope. `kStep`: the step that the model leaves out to show that the lock is needed.
template <auto kStep, class Memory>
class LockHold {
 public:
  LockHold(const Memory& memory, VersionLock* lock) : memory_(memory), lock_(lock) {
    if (memory_.keeps(kStep)) memory_.lock(lock_);
  }
  ~LockHold() {
    if (memory_.keeps(kStep)) memory_.unlock(lock_);
  }
  LockHold(const LockHold&) = delete;
  LockHold& operator=(const LockHold&) = delete;

 private:
  const Memory& memory_;
  VersionLock* const lock_;
};

/// Returns what `read` returns when no writer held the lock during it. A writer makes its change durable before it releases the lock, so
/// the answer is durable. Takes the lock after `kReadAttempts` attempts.
template <auto kStep, class Memory, class Read>
auto read_consistently(const Memory& memory, VersionLock* lock, const Read& read) {
  for (unsigned attempt = 0; attempt < Memory::kReadAttempts; ++attempt) {
    const std::uint32_t version = memory.begin_read(lock);
    const auto result = read();
    if (memory.end_read(lock, version)) return result;
  }
  const LockHold<kStep, Memory> hold(memory, lock);
  return read();
}

}  // namespace holdfast::structures
