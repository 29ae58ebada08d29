// file.cpp: system calls on the pool's file, with an error for each way they fail.
#include "system/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "holdfast/error.hpp"
#include "system/calls.hpp"
#include "system/huge_pages.hpp"
#include "system/pages.hpp"

namespace holdfast::system {

namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr std::uint64_t kRewriteStep = std::uint64_t{1} << 20;
/// tmpfs takes back what it gave if a signal interrupts it, so a long allocation goes in steps.
constexpr std::uint64_t kAllocationStep = std::uint64_t{64} << 20;

FileFacts facts_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .allocated = static_cast<std::uint64_t>(status.st_blocks) * 512,
          .links = status.st_nlink};
}

void require_regular(const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  const char* const kind = S_ISDIR(status.st_mode)    ? "a directory"
                           : S_ISFIFO(status.st_mode) ? "a FIFO"
                           : S_ISSOCK(status.st_mode) ? "a socket"
                                                      : "a device";
  throw MediumError(path + " is " + kind + ", not a file; a pool is a regular file: give a path for one");
}

[[noreturn]] void throw_open_error(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: throw PoolNotFound(path + " does not exist; create the pool first, or correct the path");
    case EACCES:
    case EPERM:
    case EROFS:
      throw MediumError(system_message(path, "cannot be opened for this", error) +
                        "; change its permissions, or open it for reading (in Python mode=\"r\")");
    default: throw SystemError(system_message(path, "cannot be opened", error));
  }
}

constexpr const char* kEnlarge =
    " (it is a tmpfs: enlarge it by `mount -o remount,size=…`, a container's /dev/shm by `--shm-size`)";

[[noreturn]] void throw_no_space(const std::string& path, std::uint64_t bytes, const std::string& why) {
  throw NoSpace(path + " needs " + std::to_string(bytes) + " bytes more, and " + why +
                "; make space there, or put the pool on a larger medium");
}

bool in_small_pages_of_memory(const File& file) {
  const std::uint32_t type = file.file_system().type;
  return type == kTmpfs || type == kRamfs;
}

/// tmpfs promises more than the machine has, and the kernel then kills some process. Better an error first.
void require_memory(const File& file, std::uint64_t bytes) {
  if (!in_small_pages_of_memory(file)) return;  // a hugetlbfs has reserved its pages before
  std::string text;
  system::text("/proc/meminfo", text);
  std::istringstream meminfo(text);
  std::uint64_t available = 0;
  for (std::string line; std::getline(meminfo, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu", &kib) == 1 ||
        std::sscanf(line.c_str(), "SwapFree: %llu", &kib) == 1) {
      available += kib * 1024;
    }
  }
  if (available != 0 && bytes > available) {
    throw_no_space(file.path(), bytes, "the machine has " + std::to_string(available) + " bytes of memory to give");
  }
}

void require_file_size_limit(const std::string& path, std::uint64_t bytes, std::uint64_t end) {
  // Beyond the limit the kernel sends SIGXFSZ, which ends the process.
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur) return;
  throw_no_space(path, bytes, "the limit on file sizes (ulimit -f) is " + std::to_string(limit.rlim_cur) + " bytes");
}

}  // namespace

std::string system_message(const std::string& path, const std::string& what, int error) {
  return path + " " + what + ": " + std::strerror(error);
}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(process_, other.process_);
  return *this;
}

void File::close() noexcept {
  if (is_open() && !forked()) {
    const NoFork no_fork;
    no_fork.forget(fd_);
    system::flock(fd_, LOCK_UN);  // at once, though a child that is just being forked may have a copy
    system::close(fd_);
  }
  fd_ = -1;
}

int File::open_watched(const std::string& path, int flags) {
  const NoFork no_fork;
  no_fork.make_space();
  const int fd = system::open(path.c_str(), flags | O_CLOEXEC, kOwnerOnly);
  if (fd >= 0) no_fork.watch(fd);
  return fd;
}

AtPath look_at(const std::string& path, FileFacts* facts) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    throw InvalidArgument("a pool's path must not be empty and has no zero byte");
  }
  struct stat status = {};
  if (system::stat(path.c_str(), status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return AtPath::nothing;
    if (errno == EACCES) throw MediumError(system_message(path, "cannot be reached", errno));
    throw SystemError(system_message(path, "cannot be looked at", errno));
  }
  require_regular(path, status);
  if (facts != nullptr) *facts = facts_of(status);
  return AtPath::file;
}

File File::open(const std::string& path, bool writable) {
  if (look_at(path) == AtPath::nothing) throw_open_error(path, ENOENT);
  File file(path, -1);  // first, since it takes memory
  file.fd_ = open_watched(path, (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY);
  if (!file.is_open()) throw_open_error(path, errno);
  struct stat status = {};
  if (system::fstat(file.fd(), status) != 0) throw SystemError(system_message(path, "cannot be looked at", errno));
  require_regular(path, status);
  return file;
}

File File::make(const std::string& path, const std::string& shown) {
  File file(path, -1);  // first, since it takes memory
  file.fd_ = open_watched(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (file.is_open()) {
    if (system::fchmod(file.fd(), kOwnerOnly) != 0) {
      const int error = errno;
      system::unlink(path.c_str());
      throw SystemError(system_message(shown, "cannot be kept to its owner", error));
    }
    return file;
  }
  switch (errno) {
    case EEXIST: return {};
    case ENOENT:
    case ENOTDIR: throw MediumError(shown + " cannot be made: its folder does not exist; make the folder first");
    case EACCES:
    case EPERM:
    case EROFS: throw MediumError(system_message(shown, "cannot be made in this folder", errno));
    case ENOSPC:
    case EDQUOT: throw NoSpace(system_message(shown, "cannot be made", errno));
    default: throw SystemError(system_message(shown, "cannot be made", errno));
  }
}

FileFacts File::facts() const {
  struct stat status = {};
  if (system::fstat(fd_, status) != 0) throw SystemError(system_message(path_, "cannot be looked at", errno));
  return facts_of(status);
}

std::size_t File::read(void* data, std::size_t bytes, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = system::pread(fd_, static_cast<char*>(data) + done, bytes - done, offset + done);
    if (got < 0) throw SystemError(system_message(path_, "cannot be read", errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

FileSystem File::file_system() const {
  struct statfs found = {};
  if (system::fstatfs(fd_, found) != 0) throw SystemError(system_message(path_, "cannot be looked at", errno));
  return {static_cast<std::uint32_t>(found.f_type), static_cast<std::uint64_t>(found.f_bsize)};
}

void File::resize(std::uint64_t bytes) const {
  if (system::ftruncate(fd_, bytes) != 0) throw SystemError(system_message(path_, "cannot be cut to length", errno));
}

void File::allocate(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t before = facts().bytes;
  require_file_size_limit(path_, bytes, offset + bytes);
  require_memory(*this, bytes);
  const bool in_memory = in_small_pages_of_memory(*this);
  bool huge = in_memory;
  if (huge && offset + bytes > before) resize(offset + bytes);
  for (std::uint64_t at = offset; at < offset + bytes;) {
    const std::uint64_t step = std::min(kAllocationStep - at % kAllocationStep, offset + bytes - at);
    huge = huge && take_huge_pages(fd_, at, step);
    const int error = system::posix_fallocate(fd_, at, step);
    if (error != 0) {
      resize(before);
      if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM) {
        throw_no_space(path_, bytes,
                       std::string("its medium has no space: ") + std::strerror(error) +
                           (error == ENOSPC && in_memory ? kEnlarge : ""));
      }
      throw MediumError(system_message(path_, "cannot be given space on its medium", error));
    }
    at += step;
  }
}

void File::punch(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  static_cast<void>(system::punch_hole(fd_, offset, bytes));
}

void File::unshare(const FileRange& range) const {
  if (system::unshare(fd_, range.offset, range.bytes) == 0 || (errno != ENOSPC && errno != EDQUOT)) return;
  throw_no_space(path_, range.bytes,
                 std::string("its medium has no space for a separate copy: ") + std::strerror(errno));
}

void File::rewrite(std::uint64_t offset, std::uint64_t bytes) const {
  std::vector<std::byte> buffer(std::min(kRewriteStep, bytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const std::size_t got = read(buffer.data(), std::min<std::uint64_t>(buffer.size(), bytes - done), offset + done);
    if (got == 0) return;
    for (std::size_t at = 0; at < got;) {
      const ssize_t wrote = system::pwrite(fd_, buffer.data() + at, got - at, offset + done + at);
      if (wrote <= 0) throw SystemError(system_message(path_, "cannot be written", wrote == 0 ? ENOSPC : errno));
      at += static_cast<std::size_t>(wrote);
    }
    done += got;
  }
}

void File::sync_data() const {
  if (system::fdatasync(fd_) != 0) throw SystemError(system_message(path_, "cannot be put on its device", errno));
}

bool Holes::look(std::uint64_t at) {
  if (at >= begin_ && at < end_) return true;
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  const std::int64_t hole = system::seek(file_->fd(), at, SEEK_HOLE);
  if (hole < 0 && errno != ENXIO) return false;
  begin_ = at;
  hole_ = hole >= 0 && static_cast<std::uint64_t>(hole) == at;
  if (!hole_) {
    end_ = hole < 0 ? kNever : static_cast<std::uint64_t>(hole);
    return true;
  }
  const std::int64_t data = system::seek(file_->fd(), at, SEEK_DATA);
  if (data < 0 && errno != ENXIO) return end_ = 0, false;
  end_ = data < 0 ? kNever : static_cast<std::uint64_t>(data);
  return end_ > at;
}

std::vector<FileRange> Holes::in(const FileRange& range) {
  std::vector<FileRange> found;
  for (std::uint64_t at = range.offset; at < range.end() && look(at);) {
    const std::uint64_t end = std::min(range.end(), end_);
    const std::uint64_t first = round_up(at, kPage), whole = end / kPage * kPage;
    if (hole_ && first < whole) found.push_back({first, whole - first});
    at = end;
  }
  return found;
}

}  // namespace holdfast::system
