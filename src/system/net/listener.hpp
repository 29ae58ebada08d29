// listener.hpp: a socket that accepts connections.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "system/file.hpp"
#include "system/net/socket.hpp"

namespace holdfast::system {

/// What one attempt to accept gave. `none`: no client waits. `gone`: a client left before it was accepted; there may be others.
/// `full`: a client waits, but this process or machine has no descriptor or memory for it (`error`): accept again when some are free.
struct Accepted {
  enum class State : std::uint8_t { accepted, none, gone, full };
  State state;
  Socket socket;  ///< non-blocking
  int error = 0;
};

struct ListenOptions {
  int backlog = 4096;  ///< clients that may wait to be accepted; the kernel limits it (net.core.somaxconn)
  mode_t mode = 0600;  ///< of a Unix socket: who may write to it may connect
};

/// Listens at an address. Non-blocking. A Unix socket's file is removed at the end; one that a killed process left is replaced.
class Listener {
 public:
  /// Throws SystemError (the address is in use, not of this machine, not allowed).
  static Listener open(const Address& address, const ListenOptions& options = {});
  ~Listener() { close(); }
  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&&) = delete;

  int fd() const { return descriptor_.fd(); }
  /// Where it listens: with the port that the kernel chose, where 0 was asked for.
  const Address& address() const { return address_; }
  /// Throws SystemError for an error that is none of `Accepted`.
  Accepted accept();
  void close() noexcept;

 private:
  Listener(Descriptor descriptor, const Address& address) : descriptor_(std::move(descriptor)), address_(address) {}
  void bind_path(const std::string& what, const ListenOptions& options);

  Descriptor descriptor_;
  Address address_;
  FileFacts file_;  ///< of a Unix socket
};

}  // namespace holdfast::system
