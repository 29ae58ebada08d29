// echo.cpp: the loop of the echo server.
#include "echo.hpp"

#include <array>

#include "holdfast/error.hpp"

namespace holdfast::proof {

using State = system::Transfer::State;

namespace {
constexpr std::uint64_t kListener = ~std::uint64_t{0}, kWakeup = kListener - 1;
constexpr int kTick = 50;  // milliseconds: also where a wakeup was made to fail
}  // namespace

EchoServer::EchoServer(const system::Address& address) : listener_(system::Listener::open(address)) {
  poller_.add(listener_.fd(), EPOLLIN, kListener);
  poller_.add(wakeup_.fd(), EPOLLIN, kWakeup);
  thread_ = std::thread([this] { run(); });
}

void EchoServer::stop() {
  stops_ = true;
  wakeup_.wake();
  if (thread_.joinable()) thread_.join();
}

void EchoServer::run() {
  try {
    while (!stops_) step();
  } catch (...) {
    failure_ = std::current_exception();
  }
  connections_.clear();
  wakeup_.drain();  // where the loop ended for another reason
}

void EchoServer::step() {
  std::array<epoll_event, 8> space;
  for (const epoll_event& event : poller_.wait(space, kTick)) {
    const std::uint64_t id = event.data.u64;
    if (id == kListener) {
      accept();
    } else if (id == kWakeup) {
      wakeup_.drain();
    } else if (const auto found = connections_.find(static_cast<int>(id)); !serve(found->second)) {
      connections_.erase(found);
    }
  }
}

void EchoServer::accept() {
  system::Accepted accepted = listener_.accept();
  if (accepted.state != system::Accepted::State::accepted) return;
  const int fd = accepted.socket.fd();
  try {
    accepted.socket.set_no_delay();
    poller_.add(fd, EPOLLIN, static_cast<std::uint64_t>(fd));
    connections_[fd].socket = std::move(accepted.socket);
  } catch (const Error&) {
    ++lost_;  // and the connection ends
  }
}

bool EchoServer::serve(Connection& connection) {
  std::array<char, 16384> piece;
  const system::Transfer got = connection.socket.receive(piece.data(), piece.size());
  if (got.state == State::moved)
    connection.pending.insert(connection.pending.end(), piece.data(), piece.data() + got.bytes);
  if (got.state == State::ended) connection.ended = true;
  if (got.state == State::lost) return ++lost_, false;
  return send(connection);
}

bool EchoServer::send(Connection& connection) {
  std::vector<char>& pending = connection.pending;
  bool waits = false;
  while (!pending.empty() && !waits) {
    const std::size_t half = pending.size() / 2;  // two pieces
    const std::array<iovec, 2> pieces = {{{pending.data(), half}, {pending.data() + half, pending.size() - half}}};
    const system::Transfer sent = connection.socket.send(pieces);
    if (sent.state == State::lost) return ++lost_, false;
    waits = sent.state == State::blocked;
    blocked_ += waits ? 1 : 0;
    bytes_ += sent.bytes;
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(sent.bytes));
  }
  if (pending.empty() && connection.ended) return false;
  const int fd = connection.socket.fd();
  const std::uint32_t events = (connection.ended ? 0u : EPOLLIN) | (waits ? EPOLLOUT : 0u);
  try {
    if (waits != connection.waits || connection.ended) poller_.change(fd, events, static_cast<std::uint64_t>(fd));
  } catch (const Error&) {
    return ++lost_, false;
  }
  connection.waits = waits;
  return true;
}

std::string numbered_bytes(std::size_t bytes) {
  std::string made(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(i * 31 + i / 4096 + 1);
  return made;
}

std::string echoed(system::Socket& client, const std::string& sent) {
  std::exception_ptr failure;
  std::thread sender([&] {
    try {
      client.send_all(sent.data(), sent.size());
      client.end_sending();
    } catch (...) {
      failure = std::current_exception();
      client.shut_down();
    }
  });
  std::string received(sent.size() + 1, '\0');
  std::exception_ptr refused;
  try {
    client.receive_all(received.data(), sent.size());
    if (client.receive(&received.back(), 1).state == State::moved) throw Error("more came back than was sent");
    received.pop_back();
  } catch (...) {
    refused = std::current_exception();
    client.shut_down();
  }
  sender.join();
  if (failure) std::rethrow_exception(failure);
  if (refused) std::rethrow_exception(refused);
  return received;
}

}  // namespace holdfast::proof
