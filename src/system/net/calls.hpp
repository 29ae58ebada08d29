// calls.hpp: every call of the operating system on sockets, epoll and eventfd, one function each, under the kernel's name.
//
// They behave as those of system/calls.hpp: the same Observer sees them and may make them fail or transfer less, and none fails with
// EINTR, except `epoll_wait`. On Linux a `connect` may be repeated after EINTR. Every descriptor is closed on exec.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct epoll_event;
struct iovec;

namespace holdfast::system {

int socket(int family, int type);
int bind(int fd, const sockaddr* address, socklen_t bytes);
int listen(int fd, int backlog);
int accept4(int fd, sockaddr_storage& peer, socklen_t& bytes, int flags);
int connect(int fd, const sockaddr* address, socklen_t bytes);
int getsockname(int fd, sockaddr_storage& address, socklen_t& bytes);
int setsockopt(int fd, int level, int option, const void* value, socklen_t bytes);
int shutdown(int fd, int how) noexcept;
ssize_t recv(int fd, void* data, std::size_t bytes) noexcept;
ssize_t send(int fd, const void* data, std::size_t bytes) noexcept;  ///< without SIGPIPE

/// The most pieces that `sendmsg` takes at once.
inline constexpr std::size_t kMostPieces = 256;
/// Sends pieces of memory one after another, at most kMostPieces, without SIGPIPE. The event has the sum of their bytes.
ssize_t sendmsg(int fd, const iovec* pieces, std::size_t count) noexcept;

int epoll_create1();
int epoll_ctl(int epoll, int operation, int fd, std::uint32_t events, std::uint64_t id) noexcept;
int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds);

int eventfd();                       ///< non-blocking, 0
int eventfd_write(int fd) noexcept;  ///< adds 1
int eventfd_read(int fd) noexcept;   ///< sets it to 0

}  // namespace holdfast::system
