// fork.hpp: keeps the descriptors of pools out of forked children, and lets a child know that it is one. Rule 22.
//
// A child that kept a descriptor would keep its parent's lock, even after the parent's death.
#pragma once

#include <atomic>

namespace holdfast::system {

/// How many forks lie between this process and the first that asked for its generation.
inline std::atomic<unsigned> forks_before{0};

/// Changes with each fork, in the child. What was opened under another number belongs to the parent.
unsigned fork_generation();

/// The process in which it was made, and what it is a member of.
class OwningProcess {
 public:
  OwningProcess() : generation_(fork_generation()) {}
  /// False in a child that was forked since. To be asked before any lock: a thread that did not come along may hold it.
  bool is_this() const { return generation_ == forks_before.load(std::memory_order_relaxed); }

 private:
  unsigned generation_;
};

/// While one lives, no fork of this process goes ahead.
class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;

  /// After it the next `watch` needs no memory.
  void make_space() const;
  /// From now on a forked child closes `descriptor`.
  void watch(int descriptor) const;
  void forget(int descriptor) const;
};

}  // namespace holdfast::system
