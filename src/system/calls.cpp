// calls.cpp: the calls themselves, each under the eyes of an observer if there is one.
#include "system/calls.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "system/observed.hpp"

namespace holdfast::system {

namespace {

std::atomic<Observer*> installed = nullptr;

constexpr off_t off(std::uint64_t offset) { return static_cast<off_t>(offset); }

int read_folder(const char* folder, std::vector<std::string>& names) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder),
                                                   closedir);  // closed where a name finds no memory, too
  if (stream == nullptr) return -1;
  errno = 0;
  while (const dirent* const entry = readdir(stream.get())) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  }
  return errno == 0 ? 0 : -1;
}

/// Closes a descriptor, and leaves errno.
struct Closing {
  int descriptor;
  ~Closing() {
    const int error = errno;
    ::close(descriptor);
    errno = error;
  }
};

/// No stream reads it: a file that is gone in the middle of reading, as a dying process's is, makes a stream's iterators throw.
int read_text(const char* path, std::string& text) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const Closing closing{file};
  char piece[4096];
  ssize_t got = 0;
  do {
    got = ::read(file, piece, sizeof piece);
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  return got == 0 ? 0 : -1;
}

}  // namespace

const char* name(Call call) {
  constexpr const char* kNames[] = {
      "open",       "close",   "flock",        "fcntl",        "fchmod",     "fstat",         "stat",
      "lstat",      "fstatfs", "realpath",     "entries",      "text",       "ftruncate",     "posix_fallocate",
      "punch_hole", "unshare", "seek",         "read",         "pread",      "pwrite",        "sync_file_range",
      "fdatasync",  "fsync",   "syncfs",       "msync",        "rename",     "renameat2",     "link",
      "unlink",     "mmap",    "munmap",       "madvise",      "mbind",      "membarrier",    "pidfd_open",
      "poll",       "socket",  "bind",         "listen",       "accept4",    "connect",       "getsockname",
      "recv",       "send",    "sendmsg",      "shutdown",     "setsockopt", "epoll_create1", "epoll_ctl",
      "epoll_wait", "eventfd", "eventfd_read", "eventfd_write"};
  static_assert(sizeof kNames / sizeof *kNames == kCalls);
  return kNames[static_cast<unsigned>(call)];
}

Observer* observer() noexcept { return installed.load(std::memory_order_acquire); }

Observer* observe(Observer* observer) noexcept { return installed.exchange(observer, std::memory_order_acq_rel); }

int open(const char* path, int flags, mode_t mode) {
  return whole({.call = Call::open, .path = path, .flags = flags}, [&] { return ::open(path, flags, mode); });
}

int close(int fd) noexcept {
  return static_cast<int>(once({.call = Call::close, .fd = fd}, [&] { return ::close(fd); }));
}

void close_in_child(int fd) noexcept { ::close(fd); }

int flock(int fd, int operation) {
  return whole({.call = Call::flock, .fd = fd, .flags = operation}, [&] { return ::flock(fd, operation); });
}

int get_flags(int fd) {
  return whole({.call = Call::fcntl, .fd = fd}, [&] { return ::fcntl(fd, F_GETFL); });
}

int set_flags(int fd, int flags) {
  return whole({.call = Call::fcntl, .fd = fd, .flags = flags}, [&] { return ::fcntl(fd, F_SETFL, flags); });
}

int fchmod(int fd, mode_t mode) {
  return whole({.call = Call::fchmod, .fd = fd}, [&] { return ::fchmod(fd, mode); });
}

int fstat(int fd, struct stat& status) {
  return whole({.call = Call::fstat, .fd = fd, .out = &status}, [&] { return ::fstat(fd, &status); });
}

int stat(const char* path, struct stat& status) {
  return whole({.call = Call::stat, .path = path, .out = &status}, [&] { return ::stat(path, &status); });
}

int lstat(const char* path, struct stat& status) {
  return whole({.call = Call::lstat, .path = path, .out = &status}, [&] { return ::lstat(path, &status); });
}

int fstatfs(int fd, struct statfs& system) {
  return whole({.call = Call::fstatfs, .fd = fd, .out = &system}, [&] { return ::fstatfs(fd, &system); });
}

int realpath(const char* path, std::string& resolved) {
  return whole({.call = Call::realpath, .path = path, .out = &resolved}, [&] {
    const std::unique_ptr<char, void (*)(void*)> found(::realpath(path, nullptr), std::free);
    if (found == nullptr) return -1;
    resolved = found.get();
    return 0;
  });
}

int entries(const char* folder, std::vector<std::string>& names) {
  return whole({.call = Call::entries, .path = folder, .out = &names}, [&] {
    names.clear();
    return read_folder(folder, names);
  });
}

int text(const char* path, std::string& text) {
  return whole({.call = Call::text, .path = path, .out = &text}, [&] {
    text.clear();
    return read_text(path, text);
  });
}

int ftruncate(int fd, std::uint64_t bytes) {
  return whole({.call = Call::ftruncate, .fd = fd, .bytes = bytes}, [&] { return ::ftruncate(fd, off(bytes)); });
}

int posix_fallocate(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const int result = whole({.call = Call::posix_fallocate, .fd = fd, .offset = offset, .bytes = bytes}, [&] {
    errno = ::posix_fallocate(fd, off(offset), off(bytes));
    return errno == 0 ? 0 : -1;
  });
  return result == 0 ? 0 : errno;
}

int punch_hole(int fd, std::uint64_t offset, std::uint64_t bytes) {
  return whole({.call = Call::punch_hole, .fd = fd, .offset = offset, .bytes = bytes},
               [&] { return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off(offset), off(bytes)); });
}

int unshare(int fd, std::uint64_t offset, std::uint64_t bytes) {
  constexpr int kUnshareRange = 0x40;  // FALLOC_FL_UNSHARE_RANGE, which older headers lack
  return whole({.call = Call::unshare, .fd = fd, .offset = offset, .bytes = bytes},
               [&] { return ::fallocate(fd, kUnshareRange | FALLOC_FL_KEEP_SIZE, off(offset), off(bytes)); });
}

std::int64_t seek(int fd, std::uint64_t offset, int whence) {
  return until_done({.call = Call::seek, .fd = fd, .offset = offset, .flags = whence},
                    [&] { return ::lseek(fd, off(offset), whence); });
}

ssize_t read(int fd, void* data, std::size_t bytes) {
  return part({.call = Call::read, .fd = fd, .bytes = bytes, .out = data},
              [&](std::size_t most) { return ::read(fd, data, most); });
}

ssize_t pread(int fd, void* data, std::size_t bytes, std::uint64_t offset) {
  return part({.call = Call::pread, .fd = fd, .offset = offset, .bytes = bytes, .out = data},
              [&](std::size_t most) { return ::pread(fd, data, most, off(offset)); });
}

ssize_t pwrite(int fd, const void* data, std::size_t bytes, std::uint64_t offset) {
  return part({.call = Call::pwrite, .fd = fd, .address = data, .offset = offset, .bytes = bytes},
              [&](std::size_t most) { return ::pwrite(fd, data, most, off(offset)); });
}

int sync_file_range(int fd, std::uint64_t offset, std::uint64_t bytes) {
  return whole({.call = Call::sync_file_range, .fd = fd, .offset = offset, .bytes = bytes},
               [&] { return ::sync_file_range(fd, off(offset), off(bytes), SYNC_FILE_RANGE_WRITE); });
}

int fdatasync(int fd) {
  return whole({.call = Call::fdatasync, .fd = fd}, [&] { return ::fdatasync(fd); });
}

int fsync(int fd) {
  return whole({.call = Call::fsync, .fd = fd}, [&] { return ::fsync(fd); });
}

int syncfs(int fd) {
  return whole({.call = Call::syncfs, .fd = fd}, [&] { return ::syncfs(fd); });
}

int msync(void* address, std::size_t bytes) {
  return whole({.call = Call::msync, .address = address, .bytes = bytes},
               [&] { return ::msync(address, bytes, MS_SYNC); });
}

int rename(const char* from, const char* to) {
  return whole({.call = Call::rename, .path = from, .target = to}, [&] { return ::rename(from, to); });
}

int renameat2(const char* from, const char* to, unsigned flags) {
  return whole({.call = Call::renameat2, .path = from, .target = to, .flags = static_cast<int>(flags)},
               [&] { return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags); });
}

int link(const char* from, const char* to) {
  return whole({.call = Call::link, .path = from, .target = to}, [&] { return ::link(from, to); });
}

int unlink(const char* path) noexcept {
  return whole({.call = Call::unlink, .path = path}, [&] { return ::unlink(path); });
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, std::uint64_t offset) noexcept {
  const std::int64_t result = until_done(
      {.call = Call::mmap, .fd = fd, .address = at, .offset = offset, .bytes = bytes, .flags = flags},
      [&] { return reinterpret_cast<std::intptr_t>(::mmap(at, bytes, protection, flags, fd, off(offset))); });
  return reinterpret_cast<void*>(result);
}

int munmap(void* at, std::size_t bytes) noexcept {
  return whole({.call = Call::munmap, .address = at, .bytes = bytes}, [&] { return ::munmap(at, bytes); });
}

int madvise(void* at, std::size_t bytes, int advice) noexcept {
  return whole({.call = Call::madvise, .address = at, .bytes = bytes, .flags = advice},
               [&] { return ::madvise(at, bytes, advice); });
}

int mbind(void* at, std::size_t bytes, int mode, std::uint64_t nodes) noexcept {
  constexpr unsigned long kBits = 64 + 1;  // the kernel takes one away
  return whole({.call = Call::mbind, .address = at, .bytes = bytes, .flags = mode},
               [&] { return syscall(SYS_mbind, at, bytes, mode, &nodes, kBits, 0); });
}
int membarrier(int command) noexcept {
  return whole({.call = Call::membarrier, .flags = command}, [&] { return syscall(SYS_membarrier, command, 0, 0); });
}

std::uint64_t ticks() noexcept {
  static std::atomic<std::uint64_t> readings = 1;  // none is what a pool that never looked has
  if (installed.load(std::memory_order_relaxed) != nullptr) return readings.fetch_add(1, std::memory_order_relaxed);
  return __builtin_ia32_rdtsc() >> 23;  // a call with one key takes no longer than any clock of the system
}

int pidfd_open(pid_t process) {
  return whole({.call = Call::pidfd_open, .flags = process}, [&] { return syscall(SYS_pidfd_open, process, 0); });
}

int poll(int fd, int milliseconds) {
  pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
  return static_cast<int>(
      once({.call = Call::poll, .fd = fd, .flags = milliseconds}, [&] { return ::poll(&wait, 1, milliseconds); }));
}

}  // namespace holdfast::system
