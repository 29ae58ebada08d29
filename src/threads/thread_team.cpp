// thread_team.cpp: the threads that a batch is spread over.
#include "threads/thread_team.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "system/fork.hpp"

namespace holdfast::threads {

/// The threads of one process.
class ThreadTeam::Team {
 public:
  Team() = default;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool is_here() const { return process_.is_this(); }
  void run(unsigned wanted, const std::function<void(unsigned, unsigned)>& part);

 private:
  unsigned start(unsigned wanted);
  void serve(unsigned number);

  const system::OwningProcess process_;
  std::mutex busy_;  // held by the caller whose job the team has
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(unsigned, unsigned)>* part_ = nullptr;
  unsigned parts_ = 0;
  unsigned left_ = 0;
  std::uint64_t job_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
};

ThreadTeam::Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

/// Under mutex_: how many can work, the caller among them; `wanted`, unless the system starts no more.
unsigned ThreadTeam::Team::start(unsigned wanted) {
  try {
    for (auto number = static_cast<unsigned>(threads_.size()) + 1; number < wanted; ++number) {
      threads_.emplace_back([this, number] { serve(number); });
    }
  } catch (const std::exception&) {  // a limit of threads, or of memory for them: the next batch tries again
  }
  return std::min(wanted, static_cast<unsigned>(threads_.size()) + 1);
}

void ThreadTeam::Team::serve(unsigned number) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    wake_.wait(lock, [&] { return stop_ || job_ != seen; });
    if (stop_) return;
    seen = job_;
    if (number >= parts_) continue;
    const auto& part = *part_;
    const unsigned parts = parts_;
    lock.unlock();
    std::exception_ptr error;
    try {
      part(number, parts);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--left_ == 0) done_.notify_one();
  }
}

void ThreadTeam::Team::run(unsigned wanted, const std::function<void(unsigned, unsigned)>& part) {
  const std::unique_lock<std::mutex> mine(busy_, std::try_to_lock);
  if (!mine.owns_lock()) return part(0, 1);
  unsigned parts = 1;
  {
    const std::lock_guard lock(mutex_);
    parts = start(wanted);
    part_ = &part;
    parts_ = parts;
    left_ = parts - 1;
    error_ = nullptr;
    ++job_;
  }
  wake_.notify_all();
  std::exception_ptr error;
  try {
    part(0, parts);
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return left_ == 0; });
  if (!error) error = error_;
  lock.unlock();
  if (error) std::rethrow_exception(error);
}

ThreadTeam::ThreadTeam(unsigned threads) : threads_(std::max(1u, threads)), team_(new Team) {}

ThreadTeam::~ThreadTeam() {
  const Team* const team = team_.load();
  if (team->is_here()) delete team;
}

/// This process's. A parent's team is left as it was: its mutexes may be locked, and its threads are not here to be joined.
ThreadTeam::Team& ThreadTeam::team() {
  Team* team = team_.load(std::memory_order_acquire);
  if (team->is_here()) return *team;
  auto own = std::make_unique<Team>();
  if (team_.compare_exchange_strong(team, own.get(), std::memory_order_acq_rel)) return *own.release();
  return *team;  // another thread was first
}

void ThreadTeam::run(unsigned wanted, const std::function<void(unsigned, unsigned)>& part) {
  wanted = std::min(wanted, threads_);
  if (wanted <= 1) return part(0, 1);
  team().run(wanted, part);
}

}  // namespace holdfast::threads
