// calls.hpp: every call of the operating system on files and mapped memory, one function each, under the kernel's name; and the
// observer of these calls and of those on sockets (net/calls.hpp).
//
// Each returns what the call of its name returns, with errno, but none fails with EINTR: that is retried here (`poll` and
// `epoll_wait` excepted, whose time is its caller's). No other file of the library makes such a call (scripts/raw-calls). So a test that installs an
// Observer sees them all, in order, may make any of them fail, and may look at what a crash there would leave.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct stat;
struct statfs;

namespace holdfast::system {

enum class Call : std::uint8_t {
  open,
  close,
  flock,
  fcntl,
  fchmod,
  fstat,
  stat,
  lstat,
  fstatfs,
  realpath,
  entries,
  text,
  ftruncate,
  posix_fallocate,
  punch_hole,
  unshare,
  seek,
  read,
  pread,
  pwrite,
  sync_file_range,
  fdatasync,
  fsync,
  syncfs,
  msync,
  rename,
  renameat2,
  link,
  unlink,
  mmap,
  munmap,
  madvise,
  mbind,
  membarrier,
  pidfd_open,
  poll,
  socket,  // from here on: net/calls.hpp
  bind,
  listen,
  accept4,
  connect,
  getsockname,
  recv,
  send,
  sendmsg,
  shutdown,
  setsockopt,
  epoll_create1,
  epoll_ctl,
  epoll_wait,
  eventfd,
  eventfd_read,
  eventfd_write
};
inline constexpr unsigned kCalls = static_cast<unsigned>(Call::eventfd_write) + 1;
/// True for the calls on sockets and on what waits for them. They touch no file, and may block.
constexpr bool is_for_sockets(Call call) { return call >= Call::socket; }
const char* name(Call call);

/// One attempt of one call. What the call does not have is as here.
struct Event {
  Call call;
  int fd = -1;
  const char* path = nullptr;
  const char* target = nullptr;         ///< the new name, of rename and link
  const void* address = nullptr;        ///< of mmap: what it asks for, and in `after` what it got
  std::uint64_t offset = 0, bytes = 0;  ///< of the file; `bytes` is the new length too
  int flags =
      0;  ///< of open, flock, fcntl, renameat2, mmap, recv, send; the advice of madvise; mode, command or option
  /// What the call fills in: a struct stat or statfs, a std::string, a std::vector<std::string>. `after` may change it.
  void* out = nullptr;
  std::int64_t result = 0;  ///< in `after`; -1 if it failed
  int error = 0;            ///< in `after`
};

/// Watches the calls of all threads. For tests.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before each attempt. Not 0: the call is not made, and fails with this errno; but `close` is made all the same, as the kernel
  /// does it. Must not throw: many calls are made where nothing may be thrown.
  virtual int before(const Event& /*event*/) noexcept { return 0; }
  /// Before each attempt of `read`, `pread`, `pwrite`, `recv`, `send` and `sendmsg` that `before` lets through: the most bytes that
  /// it transfers, from 0 to `event.bytes`.
  virtual std::uint64_t most(const Event& event) noexcept { return event.bytes; }
  /// After each attempt, failed ones too.
  virtual void after(Event& /*event*/) noexcept {}
};

/// From now on `observer` watches; null ends it. Returns who did before. No other thread may be in a call.
Observer* observe(Observer* observer) noexcept;

int open(const char* path, int flags, mode_t mode = 0);
int close(int fd) noexcept;
/// The same in a child that was just forked, where no observer watches.
void close_in_child(int fd) noexcept;
int flock(int fd, int operation);
int get_flags(int fd);             ///< fcntl(F_GETFL)
int set_flags(int fd, int flags);  ///< fcntl(F_SETFL)
int fchmod(int fd, mode_t mode);
int fstat(int fd, struct stat& status);
int stat(const char* path, struct stat& status);
int lstat(const char* path, struct stat& status);
int fstatfs(int fd, struct statfs& system);
int realpath(const char* path, std::string& resolved);
/// The names in a folder, without "." and "..", in no order.
int entries(const char* folder, std::vector<std::string>& names);
/// All that a file of /proc says.
int text(const char* path, std::string& text);

int ftruncate(int fd, std::uint64_t bytes);
int posix_fallocate(int fd, std::uint64_t offset, std::uint64_t bytes);  ///< returns 0 or the error
int punch_hole(int fd, std::uint64_t offset, std::uint64_t bytes);       ///< fallocate(FALLOC_FL_PUNCH_HOLE)
int unshare(int fd, std::uint64_t offset, std::uint64_t bytes);          ///< fallocate(FALLOC_FL_UNSHARE_RANGE)
std::int64_t seek(int fd, std::uint64_t offset, int whence);  ///< lseek; the place of the descriptor means nothing
ssize_t read(int fd, void* data, std::size_t bytes);
ssize_t pread(int fd, void* data, std::size_t bytes, std::uint64_t offset);
ssize_t pwrite(int fd, const void* data, std::size_t bytes, std::uint64_t offset);
int sync_file_range(int fd, std::uint64_t offset, std::uint64_t bytes);  ///< begins to write, and does not wait
int fdatasync(int fd);
int fsync(int fd);
int syncfs(int fd);
int msync(void* address, std::size_t bytes);  ///< MS_SYNC

int rename(const char* from, const char* to);
int renameat2(const char* from, const char* to, unsigned flags);
int link(const char* from, const char* to);
int unlink(const char* path) noexcept;

void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, std::uint64_t offset) noexcept;
int munmap(void* at, std::size_t bytes) noexcept;
int madvise(void* at, std::size_t bytes, int advice) noexcept;
/// Memory policy `mode` (linux/mempolicy.h) for these pages, over the NUMA nodes whose bits are set.
int mbind(void* at, std::size_t bytes, int mode, std::uint64_t nodes) noexcept;
int membarrier(int command) noexcept;  ///< of linux/membarrier.h

/// A clock that is cheap to read and advances every few milliseconds, for what is not worth a call each time. To an observer every
/// reading is a new one: so what it watches is done each time, and runs are alike.
std::uint64_t ticks() noexcept;

int pidfd_open(pid_t process);
int poll(int fd, int milliseconds);  ///< waits until it can be read

}  // namespace holdfast::system
