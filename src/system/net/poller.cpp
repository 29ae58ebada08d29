// poller.cpp: epoll and eventfd.
#include "system/net/poller.hpp"

#include <cerrno>

#include "core/both.hpp"
#include "system/net/calls.hpp"

namespace holdfast::system {

Poller::Poller() : descriptor_(Descriptor::from([] { return system::epoll_create1(); })) {
  if (!descriptor_.is_open()) throw_net_error("cannot wait for connections", errno);
}

void Poller::add(int fd, std::uint32_t events, std::uint64_t id) {
  if (system::epoll_ctl(descriptor_.fd(), EPOLL_CTL_ADD, fd, events, id) != 0) {
    throw_net_error("cannot wait for descriptor " + std::to_string(fd), errno);
  }
}

void Poller::change(int fd, std::uint32_t events, std::uint64_t id) {
  if (system::epoll_ctl(descriptor_.fd(), EPOLL_CTL_MOD, fd, events, id) != 0) {
    throw_net_error("cannot wait for descriptor " + std::to_string(fd), errno);
  }
}

void Poller::remove(int fd) noexcept {
  static_cast<void>(system::epoll_ctl(descriptor_.fd(), EPOLL_CTL_DEL, fd, 0, 0));
}

std::span<const epoll_event> Poller::wait(std::span<epoll_event> space, int milliseconds) {
  HOLDFAST_ASSERT(!space.empty());
  const int ready = system::epoll_wait(descriptor_.fd(), space.data(), static_cast<int>(space.size()), milliseconds);
  if (ready < 0 && errno != EINTR) throw_net_error("cannot wait for connections", errno);
  return space.first(ready < 0 ? 0 : static_cast<std::size_t>(ready));
}

Wakeup::Wakeup() : descriptor_(Descriptor::from([] { return system::eventfd(); })) {
  if (!descriptor_.is_open()) throw_net_error("cannot make a descriptor that wakes a thread", errno);
}

// EAGAIN: 2^64 - 2 wakeups have not been drained, and the descriptor is ready all the same.
void Wakeup::wake() noexcept { static_cast<void>(system::eventfd_write(descriptor_.fd())); }
void Wakeup::drain() noexcept { static_cast<void>(system::eventfd_read(descriptor_.fd())); }

}  // namespace holdfast::system
