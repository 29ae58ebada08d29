// thread_team.hpp: the threads that a batch is spread over.
#pragma once

#include <atomic>
#include <functional>

namespace holdfast::threads {

/// A team of threads, the caller among them as number 0. Each begins to exist when it is first wanted; where the system starts
/// no more of them, those that there are do the work. One team at a time works: a second caller does its work alone. Threads
/// do not come along with a fork: a child starts its own.
class ThreadTeam {
 public:
  explicit ThreadTeam(unsigned threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  unsigned threads() const { return threads_; }

  /// Calls part(i, n) for each i < n, at the same time, n ≤ `wanted`; returns when all have. An exception of one of them is
  /// thrown on, after all have ended.
  void run(unsigned wanted, const std::function<void(unsigned i, unsigned n)>& part);

 private:
  class Team;
  Team& team();

  const unsigned threads_;
  std::atomic<Team*> team_;
};

}  // namespace holdfast::threads
