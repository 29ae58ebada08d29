// sockets_test.cpp: connections over TCP and Unix sockets: whole and in parts, ended, reset, refused, and of a forked or killed process.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "echo.hpp"
#include "net_test.hpp"
#include "proof/parts.hpp"
#include "proof/recorder.hpp"
#include "support/child.hpp"
#include "system/net/calls.hpp"

namespace holdfast::proof {
namespace {

using system::Accepted;
using system::Address;
using system::Listener;
using system::Socket;
using State = system::Transfer::State;

constexpr std::size_t kMiB = std::size_t{1} << 20;

INSTANTIATE_TEST_SUITE_P(Net, Connections, testing::Bool(),
                         [](const auto& parameter) { return std::string(parameter.param ? "unix" : "tcp"); });

TEST_P(Connections, EchoAMebibyte) {
  EchoServer server(address());
  Socket client = Socket::connect(server.address());
  client.set_no_delay();
  client.set_buffers(65536, 65536);
  const std::string sent = numbered_bytes(kMiB);
  EXPECT_TRUE(echoed(client, sent) == sent);
  server.stop();
  EXPECT_EQ(server.bytes(), kMiB);
  EXPECT_EQ(server.lost(), 0u);
  EXPECT_FALSE(server.failure());
}

/// The client sends all before it receives: the server has to wait until it can send.
TEST_P(Connections, WaitForASlowReader) {
  EchoServer server(address());
  Socket client = Socket::connect(server.address());
  const std::string sent = numbered_bytes(kMiB);
  client.send_all(sent.data(), sent.size());
  std::string received(sent.size(), '\0');
  client.receive_all(received.data(), received.size());
  EXPECT_TRUE(received == sent);
  client.close();
  server.stop();
  if (GetParam()) {  // the kernel's buffers of a TCP connection may hold it all
    EXPECT_GE(server.blocked(), 1u);
  }
}

TEST_P(Connections, EchoInParts) {
  EchoServer server(address());
  const Parts parts;
  Socket client = Socket::connect(server.address());
  const std::string sent = numbered_bytes(kMiB);
  EXPECT_TRUE(echoed(client, sent) == sent);
  server.stop();
  EXPECT_GE(parts.cut(), 20u);
  EXPECT_EQ(server.bytes(), kMiB);
  EXPECT_EQ(server.lost(), 0u);
}

TEST_P(Connections, AreRefusedWhereNobodyListens) {
  std::string text;
  {
    const Listener listener = Listener::open(address());
    text = listener.address().text();
  }
  const std::string error = error_of([&] { Socket::connect(Address::parse(text)); });
  EXPECT_TRUE(has(error, text)) << error;
  EXPECT_TRUE(has(error, "start the server")) << error;
}

TEST_P(Connections, AreNotTakenFromAnotherServer) {
  EchoServer server(address());
  const std::string error = error_of([&] { Listener::open(server.address()); });
  EXPECT_TRUE(has(error, "cannot listen on " + server.address().text())) << error;
  EXPECT_TRUE(has(error, "another program listens there")) << error;
  Socket client = Socket::connect(server.address());
  EXPECT_EQ(echoed(client, "still there"), "still there");
}

TEST_P(Connections, ReportAnEndAndATimeout) {
  Listener listener = Listener::open(address());
  Socket client = Socket::connect(listener.address());
  Socket accepted = accept_one(listener);
  char byte = 0;
  EXPECT_EQ(accepted.receive(&byte, 1).state, State::blocked);
  accepted.set_blocking(true);
  accepted.set_timeout(std::chrono::milliseconds(20));
  EXPECT_EQ(accepted.receive(&byte, 1).state, State::blocked);
  const std::string late = error_of([&] { accepted.receive_all(&byte, 1); });
  EXPECT_TRUE(has(late, std::strerror(ETIMEDOUT))) << late;
  client.send_all("ab", 2);
  client.end_sending();
  std::string received(3, '\0');
  const std::string early = error_of([&] { accepted.receive_all(received.data(), 3); });
  EXPECT_TRUE(has(early, "ended after 2 of 3 bytes")) << early;
  EXPECT_EQ(accepted.receive(&byte, 1).state, State::ended);
  client.close();
  State state = State::moved;
  for (int i = 0; i < 1000 && state == State::moved; ++i) state = accepted.send("x", 1).state;  // and no SIGPIPE
  EXPECT_EQ(state, State::lost);
}

/// As a client that is killed with data unread.
TEST_P(Connections, ReportAReset) {
  Listener listener = Listener::open(address());
  Socket client = Socket::connect(listener.address());
  Socket accepted = accept_one(listener);
  accepted.set_blocking(true);
  accepted.set_timeout(std::chrono::seconds(3));
  accepted.send_all("unread", 6);
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  client.close();
  char byte = 0;
  const system::Transfer got = accepted.receive(&byte, 1);
  EXPECT_EQ(got.state, State::lost);
  EXPECT_EQ(got.error, ECONNRESET);
}

/// With parts of each length, across the borders of pieces, and with more pieces than one call takes.
TEST_P(Connections, SendPiecesInOrder) {
  Listener listener = Listener::open(address());
  Socket client = Socket::connect(listener.address());
  Socket accepted = accept_one(listener);
  accepted.set_blocking(true);
  std::string sent = numbered_bytes(10 * (system::kMostPieces + 5));
  class Most : public system::Observer {
   public:
    std::uint64_t most(const Event& event) noexcept override { return std::min(event.bytes, limit); }
    void after(Event& event) noexcept override {
      if (event.call == Call::sendmsg && event.result > 0) {
        exceeded |= static_cast<std::uint64_t>(event.result) > std::min(event.bytes, limit);
      }
    }
    std::uint64_t limit = 0;
    bool exceeded = false;
  } most;
  const Watch watch(most);
  for (most.limit = 1; most.limit < 3000; most.limit = most.limit * 3 + 1) {
    std::vector<iovec> pieces;
    for (std::size_t at = 0; at < sent.size(); at += 10) pieces.push_back({sent.data() + at, at % 70 == 0 ? 0u : 10u});
    std::string wanted, received;
    for (const iovec& piece : pieces) wanted.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    for (std::span<iovec> left(pieces); !left.empty();) {
      if (left.front().iov_len == 0) {
        left = left.subspan(1);
        continue;
      }
      const system::Transfer done = client.send(left);
      ASSERT_EQ(done.state, State::moved);
      ASSERT_LE(done.bytes, most.limit);
      received.resize(received.size() + done.bytes);
      accepted.receive_all(received.data() + received.size() - done.bytes, done.bytes);
      std::size_t bytes = done.bytes;
      for (; bytes > 0 && bytes >= left.front().iov_len; left = left.subspan(1)) bytes -= left.front().iov_len;
      if (bytes > 0) left.front() = {static_cast<char*>(left.front().iov_base) + bytes, left.front().iov_len - bytes};
    }
    ASSERT_TRUE(received == wanted) << most.limit;
  }
  EXPECT_FALSE(most.exceeded);
}

/// The child lives on; its copy of the listener would keep the address, and that of the connection would hide its end.
TEST_P(Connections, AreNotKeptByAForkedChild) {
  Listener listener = Listener::open(address());
  const Address where = listener.address();
  Socket client = Socket::connect(where);
  Socket accepted = accept_one(listener);
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    ::close(end[1]);
    listener.close();  // and leaves the parent's file
    accepted.close();
    char byte = 0;
    _exit(::read(end[0], &byte, 1) == 0 ? 0 : 1);
  }
  usleep(20'000);
  EXPECT_EQ(std::filesystem::exists(path_), GetParam());
  accepted.close();
  client.set_timeout(std::chrono::seconds(3));
  char byte = 0;
  EXPECT_EQ(client.receive(&byte, 1).state, State::ended);
  listener.close();
  EXPECT_TRUE(has(error_of([&] { Socket::connect(where); }), "nothing listens there"));
  ::close(end[1]);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(end[0]);
}

TEST_P(Connections, WaitForADescriptor) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "UBSan needs a descriptor to look at the type of an exception";
#endif
  Listener listener = Listener::open(address());
  const std::ptrdiff_t before = open_files();
  std::vector<Socket> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Socket::connect(listener.address()));
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = static_cast<rlim_t>(clients.back().fd() + 1), .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Accepted full = listener.accept();
  const std::string error = error_of([] { system::Poller poller; });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(full.state, Accepted::State::full);
  EXPECT_EQ(full.error, EMFILE);
  EXPECT_TRUE(has(error, "raise that (ulimit -n)")) << error;
  const Socket accepted = accept_one(listener);
  EXPECT_EQ(open_files(), before + 4);
}

TEST_F(Sockets, ReplaceTheFileOfAKilledServer) {
  test::in_killed_child([&] {
    const Listener listener = Listener::open(unix_address());
    raise(SIGKILL);
  });
  ASSERT_TRUE(std::filesystem::exists(path_));
  EchoServer server(unix_address());
  Socket client = Socket::connect(unix_address());
  EXPECT_EQ(echoed(client, "hello"), "hello");
}

TEST_F(Sockets, SpareAFile) {
  std::ofstream(path_) << "mine";
  const std::string error = error_of([&] { Listener::open(unix_address()); });
  EXPECT_TRUE(has(error, path_ + ": the path exists and is no socket")) << error;
  EXPECT_EQ(std::filesystem::file_size(path_), 4u);
}

TEST_F(Sockets, RemoveTheirOwnFileAlone) {
  Listener listener = Listener::open(unix_address());
  std::filesystem::remove(path_);
  std::ofstream(path_) << "another's";
  listener.close();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Sockets, OpenToTheirOwnerAlone) {
  const mode_t mask = umask(0);
  {
    const Listener closed = Listener::open(unix_address());
    EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0600));
  }
  {
    const Listener open = Listener::open(unix_address(), {.mode = 0666});
    EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0666));
  }
  umask(mask);
}

TEST_F(Sockets, SayWhichFolderIsMissing) {
  const std::string error = error_of([&] { Listener::open(Address::parse("unix:" + (folder_ / "none/a.sock"))); });
  EXPECT_TRUE(has(error, folder_ / "none/")) << error;
  EXPECT_TRUE(has(error, "make the folder first")) << error;
}

TEST_F(Sockets, SayThatAnAddressIsNotOfThisMachine) {
  const std::string error = error_of([] { Listener::open(Address::parse("192.0.2.1:4711")); });
  EXPECT_TRUE(has(error, "cannot listen on 192.0.2.1:4711")) << error;
  EXPECT_TRUE(has(error, "give an address of this machine")) << error;
}

TEST_F(Sockets, WakeAPoller) {
  system::Poller poller;
  system::Wakeup wakeup;
  poller.add(wakeup.fd(), EPOLLIN, 7);
  epoll_event space[2];
  EXPECT_TRUE(poller.wait(space, 0).empty());
  std::thread other([&] {
    wakeup.wake();
    wakeup.wake();
  });
  const auto ready = poller.wait(space, 5000);
  other.join();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].data.u64, 7u);
  wakeup.drain();
  EXPECT_TRUE(poller.wait(space, 0).empty()) << "both wakeups are taken";
  wakeup.wake();
  poller.remove(wakeup.fd());
  EXPECT_TRUE(poller.wait(space, 0).empty());
}

}  // namespace
}  // namespace holdfast::proof
