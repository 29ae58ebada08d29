// address.hpp: where a server listens, as text and as the kernel takes it.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::system {

/// A TCP port of an IPv4 or IPv6 address, or the path of a Unix socket.
class Address {
 public:
  /// Reads "127.0.0.1:11211", "[::1]:11211" or "unix:/run/holdfast.sock". Names of hosts are not looked up. Throws InvalidArgument.
  static Address parse(std::string_view text);
  /// What the kernel returned.
  static Address of(const sockaddr_storage& address, socklen_t bytes);
  Address() = default;

  bool is_unix() const { return family() == AF_UNIX; }
  int family() const { return address_.ss_family; }
  std::uint16_t port() const;  ///< 0: a Unix socket, or the kernel chooses one
  std::string path() const;    ///< of a Unix socket; empty: it has no name, as that of a client
  std::string text() const;    ///< as `parse` reads it

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const { return bytes_; }

 private:
  sockaddr_storage address_ = {};
  socklen_t bytes_ = 0;
};

}  // namespace holdfast::system
