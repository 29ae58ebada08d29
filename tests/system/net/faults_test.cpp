// faults_test.cpp: servers and clients of which a call or an allocation fails.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <set>

#include "../shortage.hpp"
#include "echo.hpp"
#include "net_test.hpp"
#include "proof/recorder.hpp"
#include "proof/socket_faults.hpp"

namespace holdfast::proof {
namespace {

using system::Accepted;
using system::Address;
using system::Listener;
using system::Socket;

class SocketFaults : public Connections {};
INSTANTIATE_TEST_SUITE_P(Net, SocketFaults, testing::Bool(),
                         [](const auto& parameter) { return std::string(parameter.param ? "unix" : "tcp"); });

/// Each call, the first three of its kind, fails once with each error that it may have: the client gets all or an error, the server
/// goes on, and no descriptor is left.
TEST_P(SocketFaults, SurviveEachCallThatFails) {
  const std::string sent = numbered_bytes(3000);
  const std::ptrdiff_t before = open_files();
  std::set<Call> met;
  unsigned faults = 0, errors = 0;
  for (unsigned number = 0; number < system::kCalls; ++number) {
    const Call call = static_cast<Call>(number);
    if (!system::is_for_sockets(call) && call != Call::flock && call != Call::fchmod && call != Call::lstat &&
        call != Call::unlink) {
      continue;
    }
    for (const int error : errors_of(call)) {
      for (unsigned at = 0; at < 3; ++at) {
        SCOPED_TRACE(std::string(system::name(call)) + " " + std::to_string(at) + ": " + std::strerror(error));
        {
          const SocketFault fault(call, at, error);
          try {
            EchoServer server(address());
            Socket client = Socket::connect(server.address());
            client.set_timeout(std::chrono::seconds(3));
            ASSERT_TRUE(echoed(client, sent) == sent);
            client.close();
            server.stop();
            ASSERT_FALSE(server.failure());
          } catch (const SystemError& thrown) {
            ++errors;
            ASSERT_TRUE(has(thrown.what(), ";")) << "says what to do: " << thrown.what();
          }
          if (!fault.met()) break;
          ++faults;
          met.insert(call);
        }
        ASSERT_EQ(open_files(), before);
        // The file stays where it cannot be looked at or removed; the next listener replaces it.
        if (call == Call::unlink || call == Call::lstat) continue;
        ASSERT_FALSE(std::filesystem::exists(path_));
      }
    }
  }
  EchoServer server(address());
  Socket client = Socket::connect(server.address());
  EXPECT_TRUE(echoed(client, sent) == sent);
  std::printf("%u faults, %u errors\n", faults, errors);
  EXPECT_GE(faults, 55u);
  EXPECT_GE(errors, 20u);
  for (const Call call : {Call::socket, Call::bind, Call::listen, Call::accept4, Call::connect, Call::recv, Call::send,
                          Call::sendmsg, Call::shutdown, Call::setsockopt, Call::epoll_create1, Call::epoll_ctl,
                          Call::epoll_wait, Call::eventfd, Call::eventfd_read, Call::eventfd_write}) {
    EXPECT_EQ(met.count(call), 1u) << system::name(call);
  }
  EXPECT_EQ(met.count(Call::getsockname), GetParam() ? 0u : 1u);
  EXPECT_EQ(met.count(Call::flock), GetParam() ? 1u : 0u);
}

/// Each allocation of a server's and a client's setup fails once.
TEST_P(SocketFaults, KeepNoDescriptorWhereMemoryEnds) {
  const std::ptrdiff_t before = open_files();
  std::int64_t at = 0;
  for (bool met = true; met; ++at) {
    const Address where = address();
    try {
      const Shortage shortage(at);
      Listener listener = Listener::open(where);
      system::Poller poller;
      poller.add(listener.fd(), EPOLLIN, 1);
      system::Wakeup wakeup;
      Socket client = Socket::connect(listener.address());
      Accepted accepted = listener.accept();
      met = shortage.met();
    } catch (const std::bad_alloc&) {
    }
    ASSERT_EQ(open_files(), before) << "allocation " << at;
    ASSERT_FALSE(std::filesystem::exists(path_)) << "allocation " << at;
  }
  EXPECT_GE(at, 3);
}

}  // namespace
}  // namespace holdfast::proof
