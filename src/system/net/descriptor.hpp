// descriptor.hpp: owns a descriptor of a socket, an epoll or an eventfd.
#pragma once

#include <string>
#include <utility>

#include "system/fork.hpp"

namespace holdfast::system {

/// Closed at its end, on exec, and in forked children: a child can only destroy the object.
class Descriptor {
 public:
  Descriptor() = default;
  /// Keeps what `open` returns; if that is -1, is closed, and errno is `open`'s. No fork happens in between.
  template <class Open>
  static Descriptor from(Open open) {
    const NoFork no_fork;
    no_fork.make_space();
    Descriptor made;
    made.fd_ = open();
    if (made.is_open()) no_fork.watch(made.fd_);
    return made;
  }
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), process_(other.process_) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// True in a process forked from the one that opened it.
  bool forked() const { return is_open() && !process_.is_this(); }
  void close() noexcept;

 private:
  int fd_ = -1;
  OwningProcess process_;
};

/// Throws SystemError: `what` (as "cannot connect to 127.0.0.1:11211"), the reason of errno, and what to do about it.
[[noreturn]] void throw_net_error(const std::string& what, int error);

}  // namespace holdfast::system
