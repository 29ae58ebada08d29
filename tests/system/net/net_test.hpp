// net_test.hpp: addresses on which the tests of sockets listen, and what they ask of errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "holdfast/error.hpp"
#include "support/errors.hpp"
#include "support/folder.hpp"
#include "system/net/listener.hpp"

namespace holdfast::proof {

using test::error_of;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::ptrdiff_t open_files() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

class Sockets : public testing::Test {
 protected:
  system::Address tcp() const { return system::Address::parse("127.0.0.1:0"); }
  system::Address unix_address() const { return system::Address::parse("unix:" + path_); }

  /// Accepts one connection; fails if none comes.
  static system::Socket accept_one(system::Listener& listener) {
    for (int attempt = 0; attempt < 5000; ++attempt) {
      system::Accepted accepted = listener.accept();
      if (accepted.state == system::Accepted::State::accepted) return std::move(accepted.socket);
      usleep(1000);
    }
    throw Error("no client connects");
  }

  const test::Folder folder_{"/tmp"};
  const std::string path_ = folder_ / "server.sock";
};

/// The two kinds of connections.
class Connections : public Sockets, public testing::WithParamInterface<bool> {
 protected:
  system::Address address() const { return GetParam() ? unix_address() : tcp(); }
};

}  // namespace holdfast::proof
