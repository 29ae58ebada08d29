// socket.cpp: a connection's calls, and what their errors mean.
#include "system/net/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "system/calls.hpp"
#include "system/net/calls.hpp"

namespace holdfast::system {

namespace {

using State = Transfer::State;

/// `zero` is what a result of 0 means.
Transfer transfer_of(ssize_t result, State zero) {
  if (result > 0) return {.state = State::moved, .bytes = static_cast<std::size_t>(result)};
  if (result == 0) return {.state = zero};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {.state = State::blocked};
  return {.state = State::lost, .error = errno};
}

}  // namespace

Socket Socket::connect(const Address& address) {
  const std::string what = "cannot connect to " + address.text();
  Socket made(Descriptor::from([&] { return system::socket(address.family(), SOCK_STREAM); }), address);
  if (!made.is_open()) throw_net_error(what, errno);
  if (system::connect(made.fd(), address.data(), address.bytes()) != 0) throw_net_error(what, errno);
  return made;
}

Transfer Socket::receive(void* data, std::size_t bytes) noexcept {
  HOLDFAST_ASSERT(bytes > 0);
  return transfer_of(system::recv(fd(), data, bytes), State::ended);
}

Transfer Socket::send(const void* data, std::size_t bytes) noexcept {
  HOLDFAST_ASSERT(bytes > 0);
  return transfer_of(system::send(fd(), data, bytes), State::blocked);
}

Transfer Socket::send(std::span<const iovec> pieces) noexcept {
  return transfer_of(system::sendmsg(fd(), pieces.data(), std::min(pieces.size(), kMostPieces)), State::blocked);
}

void Socket::receive_all(void* data, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const Transfer got = receive(static_cast<char*>(data) + done, bytes - done);
    if (got.state == State::ended) {
      throw SystemError(named("ended") + " after " + std::to_string(done) + " of " + std::to_string(bytes) +
                        " bytes; look into the server's log");
    }
    if (got.state != State::moved) throw_net_error(named("cannot be read"), got.error == 0 ? ETIMEDOUT : got.error);
    done += got.bytes;
  }
}

void Socket::send_all(const void* data, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const Transfer sent = send(static_cast<const char*>(data) + done, bytes - done);
    if (sent.state != State::moved)
      throw_net_error(named("cannot be written"), sent.error == 0 ? ETIMEDOUT : sent.error);
    done += sent.bytes;
  }
}

void Socket::end_sending() noexcept { static_cast<void>(system::shutdown(fd(), SHUT_WR)); }
void Socket::shut_down() noexcept { static_cast<void>(system::shutdown(fd(), SHUT_RDWR)); }

void Socket::set_blocking(bool blocking) {
  const int flags = system::get_flags(fd());
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  if (flags < 0 || system::set_flags(fd(), wanted) != 0) throw_net_error(named("cannot be set up"), errno);
}

void Socket::set_no_delay() {
  const int on = 1;
  if (!peer_.is_unix()) set_option(IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Socket::set_buffers(int receive_bytes, int send_bytes) {
  set_option(SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  set_option(SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
}

void Socket::set_timeout(std::chrono::milliseconds limit) {
  const timeval value = {.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
  set_option(SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  set_option(SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

void Socket::set_option(int level, int option, const void* value, std::size_t bytes) {
  if (system::setsockopt(fd(), level, option, value, static_cast<socklen_t>(bytes)) != 0) {
    throw_net_error(named("cannot be set up"), errno);
  }
}

std::string Socket::named(const std::string& what) const { return "the connection with " + peer_.text() + " " + what; }

}  // namespace holdfast::system
