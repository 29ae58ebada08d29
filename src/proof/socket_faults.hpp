// socket_faults.hpp: makes one call on sockets fail, of all threads; for servers and their clients.
#pragma once

#include <mutex>

#include "system/calls.hpp"

namespace holdfast::proof {

/// Watches as long as it lives. Of the calls `call`, the one numbered `at` (from 0) fails with `error`, once.
class SocketFault : public system::Observer {
 public:
  SocketFault(system::Call call, unsigned at, int error)
      : call_(call), at_(at), error_(error), before_(system::observe(this)) {}
  ~SocketFault() override { system::observe(before_); }
  SocketFault(const SocketFault&) = delete;
  SocketFault& operator=(const SocketFault&) = delete;

  int before(const system::Event& event) noexcept override {
    if (event.call != call_) return 0;
    const std::lock_guard lock(mutex_);
    return made_++ == at_ ? error_ : 0;
  }
  /// True once the call was made to fail. A test in which no call was has shown nothing.
  bool met() const {
    const std::lock_guard lock(mutex_);
    return made_ > at_;
  }

 private:
  const system::Call call_;
  const unsigned at_;
  const int error_;
  system::Observer* const before_;
  mutable std::mutex mutex_;
  unsigned made_ = 0;
};

}  // namespace holdfast::proof
