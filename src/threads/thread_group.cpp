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

void ThreadGroup::run(unsigned number) {
  try {
    work_(number);
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

std::string ThreadGroup::start_numbered(unsigned threads, std::function<void(unsigned)> work,
                                        std::function<void()> ended) {
  work_ = std::move(work);
  ended_ = std::move(ended);
  running_ = threads;
  try {
    while (started() < threads) threads_.emplace_back([this, number = started()] { run(number); });
  } catch (const std::exception& error) {  // a limit of threads, or of memory for them
    bool all_ended = false;
    {
      const std::lock_guard lock(mutex_);
      running_ -= threads - started();
      all_ended = running_ == 0;
    }
    if (all_ended && !threads_.empty() && ended_) ended_();
    return error.what();
  }
  return {};
}

void ThreadGroup::start(unsigned threads, std::function<void()> work, std::function<void()> ended) {
  const std::string why = start_numbered(
      threads, [work = std::move(work)](unsigned) { work(); }, std::move(ended));
  if (!threads_.empty() || threads == 0) return;
  throw SystemError("no thread can be started: " + why +
                    "; raise the limit of threads (ulimit -u) or of memory, or end some");
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
