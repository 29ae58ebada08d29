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
#include "system/net/listener.hpp"

namespace holdfast::proof {

inline std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::ptrdiff_t open_files() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

class Sockets : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = "/tmp/holdfast-net-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/server.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
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

  std::string folder_, path_;
};

/// The two kinds of connections.
class Connections : public Sockets, public testing::WithParamInterface<bool> {
 protected:
  system::Address address() const { return GetParam() ? unix_address() : tcp(); }
};

}  // namespace holdfast::proof
