// workers.hpp: the threads that a batch is spread over.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::machine::cpu {

/// A fixed team of threads, the caller among them as number 0. It begins to exist at the first use. One team at a time
/// works: a second caller does its work alone.
class Workers {
 public:
  explicit Workers(unsigned threads) : threads_(threads == 0 ? 1 : threads) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned threads() const { return threads_; }

  /// Calls part(i, n) for each i < n, at the same time, n ≤ `wanted`; returns when all have. An exception of one of them is
  /// thrown on, after all have ended.
  void run(unsigned wanted, const std::function<void(unsigned i, unsigned n)>& part);

 private:
  void start();
  void serve(unsigned number);

  const unsigned threads_;
  std::mutex busy_;  // held by the caller whose job the team has
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> team_;
  const std::function<void(unsigned, unsigned)>* part_ = nullptr;
  unsigned parts_ = 0;
  unsigned left_ = 0;
  std::uint64_t job_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
};

}  // namespace holdfast::machine::cpu
