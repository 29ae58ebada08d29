// thread_group.cpp: starts threads, and ends them.
#include "threads/thread_group.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::threads {

namespace {
constexpr auto kLook = std::chrono::milliseconds(50);
}

void ThreadGroup::run(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    fail(~std::uint64_t{0} - 1, std::current_exception());
  }
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --running_ == 0;
  }
  if (last && ended_) ended_();
  changed_.notify_all();
}

void ThreadGroup::start(unsigned threads, std::function<void()> work, std::function<void()> ended) {
  work_ = std::move(work);
  ended_ = std::move(ended);
  running_ = threads;
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { run(work_); });
  } catch (const std::exception& error) {  // a limit of threads, or of memory for them: fewer do it too
    bool all_ended = false;
    {
      const std::lock_guard lock(mutex_);
      running_ -= threads - static_cast<unsigned>(threads_.size());
      all_ended = running_ == 0;
    }
    if (threads_.empty()) {
      throw SystemError(std::string("no thread can be started: ") + error.what() +
                        "; raise the limit of threads (ulimit -u) or of memory, or end some");
    }
    if (all_ended && ended_) ended_();
  }
}

bool ThreadGroup::done() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kLook, [&] { return running_ == 0; });
}

void ThreadGroup::fail(std::uint64_t number, std::exception_ptr error) {
  stop();
  const std::lock_guard lock(mutex_);
  if (number >= error_number_) return;
  error_number_ = number;
  error_ = std::move(error);
}

void ThreadGroup::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadGroup::rethrow() {
  if (error_) std::rethrow_exception(error_);
}

}  // namespace holdfast::threads
