// workers.cpp: the threads that a batch is spread over.
#include "gphash/cpu/workers.hpp"

#include <algorithm>

namespace holdfast::machine::cpu {

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : team_) thread.join();
}

void Workers::start() {
  if (!team_.empty()) return;
  for (unsigned i = 1; i < threads_; ++i) team_.emplace_back([this, i] { serve(i); });
}

void Workers::serve(unsigned number) {
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

void Workers::run(unsigned wanted, const std::function<void(unsigned, unsigned)>& part) {
  const unsigned parts = std::min(wanted, threads_);
  const std::unique_lock<std::mutex> mine =
      parts > 1 ? std::unique_lock(busy_, std::try_to_lock) : std::unique_lock<std::mutex>();
  if (!mine.owns_lock()) return part(0, 1);
  {
    const std::lock_guard lock(mutex_);
    start();
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

}  // namespace holdfast::machine::cpu
