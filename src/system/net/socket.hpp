// socket.hpp: one connection, over TCP or a Unix socket. It reports what the peer and the kernel did, and decides nothing.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "system/net/address.hpp"
#include "system/net/descriptor.hpp"

namespace holdfast::system {

/// What one transfer did. `blocked`: nothing can be transferred now, or within the timeout. `ended`: the peer sends no more.
/// `lost`: the connection cannot be used any more, as after a reset; `error` says why.
struct Transfer {
  enum class State : std::uint8_t { moved, blocked, ended, lost };
  State state;
  std::size_t bytes = 0;  ///< of `moved`, at least 1
  int error = 0;          ///< errno, of `lost`
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// A connection. Movable; closed at its end. Two threads may use it at once if one receives and the other sends.
class Socket {
 public:
  Socket() = default;
  /// Takes over a connection, as `Listener::accept` does.
  Socket(Descriptor descriptor, const Address& peer) : descriptor_(std::move(descriptor)), peer_(peer) {}
  /// Connects, and waits until the server has taken the connection into its queue. Blocking. Throws SystemError.
  static Socket connect(const Address& address);

  bool is_open() const { return descriptor_.is_open(); }
  int fd() const { return descriptor_.fd(); }
  const Address& peer() const { return peer_; }
  void close() noexcept { descriptor_.close(); }

  /// Receives at most `bytes`, at least one, into `data`.
  Transfer receive(void* data, std::size_t bytes) noexcept;
  /// Sends a first part of `data`, of at least one byte.
  Transfer send(const void* data, std::size_t bytes) noexcept;
  /// Sends a first part of pieces of memory, of which at least one has bytes, and at most the first kMostPieces of them.
  Transfer send(std::span<const iovec> pieces) noexcept;
  /// Receives or sends all of it, or throws SystemError; for a blocking connection.
  void receive_all(void* data, std::size_t bytes);
  void send_all(const void* data, std::size_t bytes);

  /// Ends this direction; the peer receives what was sent, then `ended`.
  void end_sending() noexcept;
  /// Ends both directions for everyone who has the connection: a thread that waits in `receive` returns.
  void shut_down() noexcept;

  /// With false `receive` and `send` report `blocked` instead of waiting. Throws SystemError, as all below.
  void set_blocking(bool blocking);
  /// Sends small packets at once (TCP_NODELAY); nothing for a Unix socket.
  void set_no_delay();
  /// Sizes of the kernel's buffers. It may double or limit them.
  void set_buffers(int receive_bytes, int send_bytes);
  /// How long a blocking `receive` or `send` waits before it reports `blocked`; 0: without limit.
  void set_timeout(std::chrono::milliseconds limit);

 private:
  void set_option(int level, int option, const void* value, std::size_t bytes);
  std::string named(const std::string& what) const;

  Descriptor descriptor_;
  Address peer_;
};

}  // namespace holdfast::system
