// named_file.cpp: temporary names, and renaming that replaces nothing by accident.
#include "memory/named_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "holdfast/error.hpp"

namespace holdfast::memory {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string resolve(const std::string& path) {
  char* const resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result(resolved);
  free(resolved);
  return result;
}

File make_temporary(const std::string& target) {
  static std::atomic<unsigned> serial = 0;
  for (;;) {
    const unsigned number = serial.fetch_add(1, std::memory_order_relaxed);
    std::string name = target + ".tmp-" + std::to_string(getpid());
    if (number != 0) name += "-" + std::to_string(number);
    if (File file = File::make(name); file.is_open()) return file;
  }
}

TemporaryName::~TemporaryName() {
  if (!path.empty()) unlink(path.c_str());
}

void give_name(const std::string& temporary, const std::string& target, bool overwrite) {
  if (overwrite) {
    if (rename(temporary.c_str(), target.c_str()) == 0) return;
  } else {
    if (syscall(SYS_renameat2, AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), 1u /* RENAME_NOREPLACE */) == 0) {
      return;
    }
    // A file system without it: a link cannot replace anything either.
    if ((errno == EINVAL || errno == ENOSYS) && link(temporary.c_str(), target.c_str()) == 0) return;
    if (errno == EEXIST) throw PoolExists(target + " exists already; open it, or create it with overwrite");
  }
  throw SystemError(system_message(target, "cannot be given its name", errno));
}

void sync_folder(const std::string& path) {
  const int fd = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder may be writable but not readable; the file itself is on its device
  fsync(fd);
  close(fd);
}

}  // namespace holdfast::memory
