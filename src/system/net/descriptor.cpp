// descriptor.cpp: closes descriptors, and says why a call on sockets failed.
#include "system/net/descriptor.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::system {

namespace {

std::string advice(int error) {
  switch (error) {
    case EADDRINUSE: return "another program listens there: stop it, or give another address";
    case EADDRNOTAVAIL: return "give an address of this machine, or 0.0.0.0 for all of them";
    case EACCES:
    case EPERM: return "give a port above 1023, or a folder in which this user may write";
    case ECONNREFUSED:
    case ENOENT: return "nothing listens there: start the server, or correct the address";
    case EMFILE: {
      rlimit limit = {};
      getrlimit(RLIMIT_NOFILE, &limit);
      return "this process may have " + std::to_string(limit.rlim_cur) + " open files: raise that (ulimit -n)";
    }
    case ENFILE: return "the machine has too many open files: close some, or raise fs.file-max";
    case ENOSPC: return "this user waits for too many descriptors: raise fs.epoll.max_user_watches";
    case ENOMEM:
    case ENOBUFS: return "the kernel has no memory for it: close connections, or other programs";
    default: return "check the address and the network";
  }
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(process_, other.process_);
  return *this;
}

void Descriptor::close() noexcept {
  if (is_open() && !forked()) {
    const NoFork no_fork;
    no_fork.forget(fd_);
    system::close(fd_);
  }
  fd_ = -1;
}

void throw_net_error(const std::string& what, int error) {
  throw SystemError(what + ": " + std::strerror(error) + "; " + advice(error));
}

}  // namespace holdfast::system
