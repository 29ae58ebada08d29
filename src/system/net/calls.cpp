// calls.cpp: the calls on sockets themselves, each under the eyes of an observer if there is one.
#include "system/net/calls.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "core/both.hpp"
#include "system/observed.hpp"

namespace holdfast::system {

namespace {

/// The first `most` bytes of some pieces.
class Shortened {
 public:
  Shortened(const iovec* pieces, std::size_t count, std::size_t most) {
    for (; count_ < count && (most > 0 || count_ == 0); ++count_) {
      pieces_[count_] = pieces[count_];
      pieces_[count_].iov_len = std::min(pieces[count_].iov_len, most);
      most -= pieces_[count_].iov_len;
    }
  }
  iovec* pieces() { return pieces_.data(); }
  std::size_t count() const { return count_; }

 private:
  std::array<iovec, kMostPieces> pieces_;
  std::size_t count_ = 0;
};

}  // namespace

int socket(int family, int type) {
  return whole({.call = Call::socket, .flags = type}, [&] { return ::socket(family, type | SOCK_CLOEXEC, 0); });
}

int bind(int fd, const sockaddr* address, socklen_t bytes) {
  return whole({.call = Call::bind, .fd = fd, .address = address, .bytes = bytes},
               [&] { return ::bind(fd, address, bytes); });
}

int listen(int fd, int backlog) {
  return whole({.call = Call::listen, .fd = fd, .flags = backlog}, [&] { return ::listen(fd, backlog); });
}

int accept4(int fd, sockaddr_storage& peer, socklen_t& bytes, int flags) {
  return whole({.call = Call::accept4, .fd = fd, .flags = flags, .out = &peer}, [&] {
    bytes = sizeof peer;
    return ::accept4(fd, reinterpret_cast<sockaddr*>(&peer), &bytes, flags | SOCK_CLOEXEC);
  });
}

int connect(int fd, const sockaddr* address, socklen_t bytes) {
  return whole({.call = Call::connect, .fd = fd, .address = address, .bytes = bytes},
               [&] { return ::connect(fd, address, bytes); });
}

int getsockname(int fd, sockaddr_storage& address, socklen_t& bytes) {
  return whole({.call = Call::getsockname, .fd = fd, .out = &address}, [&] {
    bytes = sizeof address;
    return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
  });
}

int setsockopt(int fd, int level, int option, const void* value, socklen_t bytes) {
  return whole({.call = Call::setsockopt, .fd = fd, .address = value, .bytes = bytes, .flags = option},
               [&] { return ::setsockopt(fd, level, option, value, bytes); });
}

int shutdown(int fd, int how) noexcept {
  return whole({.call = Call::shutdown, .fd = fd, .flags = how}, [&] { return ::shutdown(fd, how); });
}

ssize_t recv(int fd, void* data, std::size_t bytes) noexcept {
  return part({.call = Call::recv, .fd = fd, .bytes = bytes, .out = data},
              [&](std::size_t most) { return ::recv(fd, data, most, 0); });
}

ssize_t send(int fd, const void* data, std::size_t bytes) noexcept {
  return part({.call = Call::send, .fd = fd, .address = data, .bytes = bytes},
              [&](std::size_t most) { return ::send(fd, data, most, MSG_NOSIGNAL); });
}

ssize_t sendmsg(int fd, const iovec* pieces, std::size_t count) noexcept {
  HOLDFAST_ASSERT(count <= kMostPieces);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return part({.call = Call::sendmsg, .fd = fd, .bytes = bytes}, [&](std::size_t most) {
    msghdr message = {};
    message.msg_iov = const_cast<iovec*>(pieces);  // the kernel only reads it
    message.msg_iovlen = count;
    if (most == bytes) return ::sendmsg(fd, &message, MSG_NOSIGNAL);
    Shortened shortened(pieces, count, most);
    message.msg_iov = shortened.pieces();
    message.msg_iovlen = shortened.count();
    return ::sendmsg(fd, &message, MSG_NOSIGNAL);
  });
}

int epoll_create1() {
  return whole({.call = Call::epoll_create1}, [] { return ::epoll_create1(EPOLL_CLOEXEC); });
}

int epoll_ctl(int epoll, int operation, int fd, std::uint32_t events, std::uint64_t id) noexcept {
  epoll_event event = {.events = events, .data = {.u64 = id}};
  return whole({.call = Call::epoll_ctl, .fd = fd, .flags = operation},
               [&] { return ::epoll_ctl(epoll, operation, fd, &event); });
}

int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  return static_cast<int>(once({.call = Call::epoll_wait, .fd = epoll, .flags = milliseconds, .out = events},
                               [&] { return ::epoll_wait(epoll, events, most, milliseconds); }));
}

int eventfd() {
  return whole({.call = Call::eventfd}, [] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
}

int eventfd_write(int fd) noexcept {
  return whole({.call = Call::eventfd_write, .fd = fd}, [&] { return ::eventfd_write(fd, 1); });
}

int eventfd_read(int fd) noexcept {
  return whole({.call = Call::eventfd_read, .fd = fd}, [&] {
    eventfd_t count = 0;
    return ::eventfd_read(fd, &count);
  });
}

}  // namespace holdfast::system
