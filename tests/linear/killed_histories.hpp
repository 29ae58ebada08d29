// killed_histories.hpp: histories of a child process that is killed amid one of them: what it wrote down, and what a kill cut.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "recorder.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {

/// In memory that the child shares, so that it outlives it.
class KilledHistories {
 public:
  static constexpr unsigned kMost = 32;  ///< histories of a child

  KilledHistories()
      : shared_(static_cast<Shared*>(
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (static_cast<void*>(shared_) == MAP_FAILED) throw std::bad_alloc();
  }
  ~KilledHistories() { munmap(shared_, sizeof(Shared)); }
  KilledHistories(const KilledHistories&) = delete;
  KilledHistories& operator=(const KilledHistories&) = delete;

  /// A child calls `live()`, which calls run(). It is killed after `wait()`, which is called as a history begins.
  template <class Live, class Wait>
  void kill_one(Random& random, const Live& live, const Wait& wait) {
    std::memset(static_cast<void*>(shared_), 0, sizeof(Shared));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        live();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(3);
    }
    const std::uint32_t last = 1 + static_cast<std::uint32_t>(random.below(kMost));
    int status = 0;
    const auto is_there = [&] { return shared_->begun >= last && shared_->history[last - 1].stage != 0; };
    while (!is_there() && waitpid(child, &status, WNOHANG) == 0) std::this_thread::yield();
    ASSERT_TRUE(is_there()) << "the child ended";
    wait();
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }

  /// In the child: runs `history(number, log)` for each, and then waits to be killed.
  template <class History>
  [[noreturn]] void run(const History& history) {
    for (unsigned i = 0; i < kMost; ++i) {
      shared_->begun = i + 1;
      history(i, shared_->history[i]);
    }
    for (;;) pause();
  }

  /// Calls `visit(number, log)` for each history that began, in their order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t i = 0; i < shared_->begun; ++i) {
      if (shared_->history[i].stage != 0) visit(i, shared_->history[i]);
    }
  }
  bool is_last(std::uint32_t number) const { return number + 1 == shared_->begun; }

 private:
  struct Shared {
    std::atomic<std::uint32_t> begun;  ///< histories
    HistoryLog history[kMost];
  };
  Shared* const shared_;
};

/// For less than a scheduler's tick: a sleep would last longer than most histories.
inline void spin(std::uint64_t times) {
  for (; times != 0; --times) std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace holdfast::test::linear
