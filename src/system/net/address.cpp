// address.cpp: addresses from text, and back.
#include "system/net/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::system {

namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMostPath = sizeof(sockaddr_un::sun_path) - 1;

[[noreturn]] void throw_not_an_address(std::string_view text, const std::string& why) {
  const std::string shown(text.substr(0, text.find('\0')));
  throw InvalidArgument("address \"" + shown + "\" " + why +
                        "; give an address and a port as 127.0.0.1:11211 or [::1]:11211, or unix:PATH");
}

std::uint16_t port_of(std::string_view text, std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw_not_an_address(text, "has no port from 0 to 65535");
  }
  return port;
}

/// A copy of the kernel's address as type T.
template <class T>
T as(const sockaddr_storage& address) {
  T copy = {};
  std::memcpy(&copy, &address, sizeof copy);
  return copy;
}

template <class T>
sockaddr_storage stored(const T& address) {
  static_assert(sizeof address <= sizeof(sockaddr_storage));
  sockaddr_storage copy = {};
  std::memcpy(&copy, &address, sizeof address);
  return copy;
}

}  // namespace

Address Address::parse(std::string_view text) {
  Address made;
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    if (path.empty() || path.find('\0') != std::string_view::npos) throw_not_an_address(text, "has no path");
    if (path.size() > kMostPath) {
      throw_not_an_address(text, "has a path of more than " + std::to_string(kMostPath) + " bytes");
    }
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    made.address_ = stored(address);
    made.bytes_ = sizeof address;
    return made;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) throw_not_an_address(text, "has no port");
  const std::uint16_t port = htons(port_of(text, text.substr(colon + 1)));
  const std::string host(text.substr(0, colon));
  sockaddr_in four = {};
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = port;
    made.address_ = stored(four);
    made.bytes_ = sizeof four;
    return made;
  }
  sockaddr_in6 six = {};
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!in_brackets || inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six.sin6_addr) != 1) {
    throw_not_an_address(text, "has no numeric IPv4 address, nor an IPv6 address in brackets");
  }
  six.sin6_family = AF_INET6;
  six.sin6_port = port;
  made.address_ = stored(six);
  made.bytes_ = sizeof six;
  return made;
}

Address Address::of(const sockaddr_storage& address, socklen_t bytes) {
  HOLDFAST_ASSERT(bytes <= sizeof address);
  Address made;
  std::memcpy(&made.address_, &address, bytes);
  made.bytes_ = bytes;
  return made;
}

std::uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(address_).sin_port);
  if (family() == AF_INET6) return ntohs(as<sockaddr_in6>(address_).sin6_port);
  return 0;
}

std::string Address::path() const {
  const sockaddr_un address = as<sockaddr_un>(address_);
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
  if (!is_unix() || bytes_ <= kBefore) return {};
  return {address.sun_path, strnlen(address.sun_path, std::min<std::size_t>(bytes_ - kBefore, kMostPath + 1))};
}

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = {};
  switch (family()) {
    case AF_UNIX: return std::string(kUnix) + path();
    case AF_INET: {
      const auto address = as<sockaddr_in>(address_);
      inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
      return std::string(host) + ":" + std::to_string(port());
    }
    case AF_INET6: {
      const auto address = as<sockaddr_in6>(address_);
      inet_ntop(AF_INET6, &address.sin6_addr, host, sizeof host);
      return "[" + std::string(host) + "]:" + std::to_string(port());
    }
    default: return "an unnamed address";
  }
}

}  // namespace holdfast::system
