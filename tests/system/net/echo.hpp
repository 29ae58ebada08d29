// echo.hpp: a server that sends back what it receives, for many connections in one thread; and a client that checks it.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "system/net/listener.hpp"
#include "system/net/poller.hpp"

namespace holdfast::proof {

class EchoServer {
 public:
  explicit EchoServer(const system::Address& address);
  ~EchoServer() { stop(); }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  void stop();

  const system::Address& address() const { return listener_.address(); }
  std::uint64_t bytes() const { return bytes_; }      ///< sent back
  std::uint64_t blocked() const { return blocked_; }  ///< sends that had to wait
  std::uint64_t lost() const { return lost_; }        ///< connections that ended with an error
  std::exception_ptr failure() const { return failure_; }

 private:
  struct Connection {
    system::Socket socket;
    std::vector<char> pending;  ///< received, and not sent yet
    bool ended = false;         ///< the client sends no more
    bool waits = false;         ///< for the client to take more
  };
  void run();
  void step();
  void accept();
  bool serve(Connection& connection);  ///< false: it is to be closed
  bool send(Connection& connection);

  system::Listener listener_;
  system::Poller poller_;
  system::Wakeup wakeup_;
  std::map<int, Connection> connections_;
  std::atomic<bool> stops_ = false;
  std::atomic<std::uint64_t> bytes_ = 0, blocked_ = 0, lost_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;
};

std::string numbered_bytes(std::size_t bytes);
/// Sends `sent` from a thread and receives as much at once; returns what came back. Throws what the client throws.
std::string echoed(system::Socket& client, const std::string& sent);

}  // namespace holdfast::proof
