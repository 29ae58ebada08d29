// poller.hpp: waits for many descriptors (epoll), and is woken by other threads (eventfd).
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "system/net/descriptor.hpp"

namespace holdfast::system {

/// Waits until descriptors are ready. `events` are the EPOLL… bits, edge triggering included. Threads may add, change and remove while
/// others wait. A descriptor that is closed leaves by itself.
class Poller {
 public:
  Poller();  ///< Throws SystemError, as `add` and `change`.
  /// From now on reports `id` when `fd` is ready for one of `events`, or has failed.
  void add(int fd, std::uint32_t events, std::uint64_t id);
  void change(int fd, std::uint32_t events, std::uint64_t id);
  void remove(int fd) noexcept;
  /// Waits for at most `milliseconds`, or without limit if that is -1; returns those that are ready, in `space`. None: the time is over,
  /// or a signal came. Throws SystemError.
  std::span<const epoll_event> wait(std::span<epoll_event> space, int milliseconds);

 private:
  Descriptor descriptor_;
};

/// Wakes a thread that waits in a Poller which has its `fd`, for EPOLLIN.
class Wakeup {
 public:
  Wakeup();  ///< Throws SystemError.
  int fd() const { return descriptor_.fd(); }
  /// From any thread, and from a signal handler. Several calls may wake once.
  void wake() noexcept;
  /// The woken thread calls it before it looks for what it was woken for.
  void drain() noexcept;

 private:
  Descriptor descriptor_;
};

}  // namespace holdfast::system
