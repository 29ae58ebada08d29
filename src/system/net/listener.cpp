// listener.cpp: binds, listens and accepts; replaces the file of a Unix socket that no process listens on.
#include "system/net/listener.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <string>

#include "holdfast/error.hpp"
#include "system/calls.hpp"
#include "system/net/calls.hpp"

namespace holdfast::system {

namespace {

Descriptor stream_socket(const std::string& what, int family) {
  Descriptor made = Descriptor::from([&] { return system::socket(family, SOCK_STREAM | SOCK_NONBLOCK); });
  if (!made.is_open()) throw_net_error(what, errno);
  return made;
}

/// While one lives, no other process binds a Unix socket in the folder of `path`, or judges one there to be left over.
Descriptor lock_folder(const std::string& what, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  Descriptor made = Descriptor::from([&] { return system::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (!made.is_open()) {
    const int error = errno;
    throw SystemError(what + ": " + system_message("its folder " + folder, "cannot be opened", error) +
                      "; make the folder first, or give another path");
  }
  if (system::flock(made.fd(), LOCK_EX | LOCK_NB) != 0) {
    throw SystemError(system_message(what + ": its folder " + folder, "cannot be locked", errno) +
                      "; another server starts there: try again");
  }
  return made;
}

/// A Unix socket to which the kernel refuses a connection: the process that made it has ended. `status` is set in any case.
bool is_left_over(const std::string& what, const Address& address) {
  struct stat status = {};
  if (system::lstat(address.path().c_str(), status) != 0) return false;
  if (!S_ISSOCK(status.st_mode)) {
    throw SystemError(what + ": the path exists and is no socket; give another path");
  }
  const Descriptor probe = stream_socket(what, AF_UNIX);
  return system::connect(probe.fd(), address.data(), address.bytes()) != 0 && errno == ECONNREFUSED;
}

}  // namespace

Listener Listener::open(const Address& address, const ListenOptions& options) {
  const std::string what = "cannot listen on " + address.text();
  Listener made(stream_socket(what, address.family()), address);
  Descriptor folder;
  if (address.is_unix()) {
    folder = lock_folder(what, address.path());
    made.bind_path(what, options);
  } else {
    const int on = 1;  // the port can be used again while connections of a server before this one still end
    if (system::setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        system::bind(made.fd(), address.data(), address.bytes()) != 0) {
      throw_net_error(what, errno);
    }
    sockaddr_storage bound = {};
    socklen_t bytes = 0;
    if (system::getsockname(made.fd(), bound, bytes) != 0) throw_net_error(what, errno);
    made.address_ = Address::of(bound, bytes);
  }
  if (system::listen(made.fd(), options.backlog) != 0) throw_net_error(what, errno);
  return made;
}

void Listener::bind_path(const std::string& what, const ListenOptions& options) {
  const std::string path = address_.path();
  if (system::fchmod(fd(), options.mode) != 0) throw_net_error(what, errno);  // `bind` gives the file the socket's mode
  if (system::bind(fd(), address_.data(), address_.bytes()) != 0) {
    const int error = errno;
    if (error != EADDRINUSE || !is_left_over(what, address_)) throw_net_error(what, error);
    if (system::unlink(path.c_str()) != 0 || system::bind(fd(), address_.data(), address_.bytes()) != 0) {
      throw_net_error(what, errno);
    }
  }
  struct stat status = {};
  if (system::lstat(path.c_str(), status) != 0) {
    const int error = errno;
    system::unlink(path.c_str());
    throw_net_error(what, error);
  }
  file_ = {.device = status.st_dev, .inode = status.st_ino};
}

Accepted Listener::accept() {
  sockaddr_storage peer = {};
  socklen_t bytes = 0;
  Descriptor made = Descriptor::from([&] { return system::accept4(fd(), peer, bytes, SOCK_NONBLOCK); });
  if (made.is_open()) return {Accepted::State::accepted, Socket(std::move(made), Address::of(peer, bytes))};
  switch (errno) {
    case EAGAIN: return {Accepted::State::none, {}};
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return {Accepted::State::full, {}, errno};
    case ECONNABORTED:  // these and the next are errors of the new connection, not of the listener: accept(2)
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH: return {Accepted::State::gone, {}, errno};
    default: throw_net_error("cannot accept connections on " + address_.text(), errno);
  }
}

void Listener::close() noexcept {
  const bool ours = descriptor_.is_open() && !descriptor_.forked() && file_.inode != 0;
  if (ours) {
    struct stat status = {};
    const char* const path = reinterpret_cast<const sockaddr_un*>(address_.data())->sun_path;  // no memory is needed
    const bool there = system::lstat(path, status) == 0;
    if (there && file_.same_file({.device = status.st_dev, .inode = status.st_ino})) system::unlink(path);
  }
  descriptor_.close();
}

}  // namespace holdfast::system
