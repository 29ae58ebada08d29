// named_file.cpp: temporary names, and renaming that replaces nothing by accident.
#include "system/named_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::system {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

constexpr unsigned kNoReplace = 1, kExchange = 2;  // of renameat2, which older headers lack
constexpr std::string_view kMark = ".tmp-";        // then the process, and a number if it made several

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_temporary(std::string_view name, std::string_view target) {
  if (name.substr(0, target.size()) != target) return false;
  name.remove_prefix(target.size());
  if (name.substr(0, kMark.size()) != kMark) return false;
  name.remove_prefix(kMark.size());
  const std::size_t dash = name.find('-');
  return is_number(name.substr(0, dash)) && (dash == std::string_view::npos || is_number(name.substr(dash + 1)));
}

/// False if another process has locked it. In errors it is called `shown`, as in what follows.
bool lock_unless_held(const File& file, const std::string& shown) {
  if (system::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw SystemError(system_message(shown, "cannot be locked", errno));
}

/// What has a name, links not followed.
enum class Has { nothing, this_file, another };
Has look_at_name(const std::string& name, const FileFacts& file, const std::string& shown) {
  struct stat named = {};
  if (system::lstat(name.c_str(), named) != 0) {
    if (errno == ENOENT) return Has::nothing;
    throw SystemError(system_message(shown, "cannot be looked at", errno));
  }
  const bool same = S_ISREG(named.st_mode) && named.st_dev == file.device && named.st_ino == file.inode;
  return same ? Has::this_file : Has::another;
}

/// Is it the regular file of this name, and not one that a link or a successor leads to?
bool has_name(const File& file, const std::string& name, const std::string& shown) {
  return look_at_name(name, file.facts(), shown) == Has::this_file;
}

/// Does a temporary name lead to the file of the target, which take_name has linked? The target is looked at second: a
/// file that gets its name by an exchange meanwhile was looked at with one link, or has left the name.
bool is_second_name(const struct stat& named, const std::string& target) {
  struct stat whole = {};
  return named.st_nlink > 1 && system::lstat(target.c_str(), whole) == 0 && named.st_dev == whole.st_dev &&
         named.st_ino == whole.st_ino;
}

[[noreturn]] void throw_taken(const std::string& target) {
  throw PoolExists(target +
                   " was made or replaced by another process meanwhile, and stays; try again, or name another file");
}

/// Gives the file a name that is not in use.
void take_name(const std::string& temporary, const std::string& target) {
  if (system::renameat2(temporary.c_str(), target.c_str(), kNoReplace) == 0) return;
  // A file system without it: a link cannot replace anything either.
  if ((errno == EINVAL || errno == ENOSYS) && system::link(temporary.c_str(), target.c_str()) == 0) return;
  if (errno == EEXIST) throw_taken(target);
  throw SystemError(system_message(target, "cannot be given its name", errno));
}

/// After the names were exchanged: did it replace the right file? If not, the names are exchanged again.
void keep_exchange(const std::string& temporary, const std::string& target, const FileFacts& replaced) try {
  if (look_at_name(temporary, replaced, target) != Has::this_file) throw_taken(target);
} catch (const Error&) {
  if (system::renameat2(temporary.c_str(), target.c_str(), kExchange) == 0) throw;
  throw SystemError(system_message(target, "was replaced by another file, and cannot be put back", errno) +
                    "; what was there is " + temporary + " now: rename it");
}

}  // namespace

std::string resolve(const std::string& path) {
  std::string resolved;
  return system::realpath(path.c_str(), resolved) == 0 ? resolved : path;
}

File make_temporary(const std::string& target, TemporaryName& name) {
  static std::atomic<unsigned> serial = 0;
  constexpr int kAttempts = 10'000;  // names that others have, or have removed meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const unsigned number = serial.fetch_add(1, std::memory_order_relaxed);
    std::string tried = target + std::string(kMark) + std::to_string(getpid());
    if (number != 0) tried += "-" + std::to_string(number);
    TemporaryName unless_locked;
    unless_locked.path.reserve(tried.size());
    File file = File::make(tried, target);
    if (!file.is_open()) continue;
    unless_locked.path = tried;
    // Until it is locked it looks like a leftover, and another process may be removing it.
    if (!lock_unless_held(file, target) || !has_name(file, tried, target)) continue;
    name.path.swap(unless_locked.path);
    return file;
  }
  throw SystemError(target + " gets no temporary file beside it: all names for one are taken; remove " + target +
                    std::string(kMark) + "*");
}

void remove_leftovers(const std::string& target) noexcept try {
  const std::string folder = folder_of(target), own = target.substr(target.rfind('/') + 1);
  std::vector<std::string> entries;
  system::entries(folder.c_str(), entries);
  for (const std::string& entry : entries) {
    const std::string name = folder + "/" + entry;
    struct stat named = {};
    if (!is_temporary(entry, own) || system::lstat(name.c_str(), named) != 0 || !S_ISREG(named.st_mode)) continue;
    if (is_second_name(named, target)) {
      system::unlink(name.c_str());
      continue;
    }
    try {
      const File file = File::open(name, false);
      if (lock_unless_held(file, name) && has_name(file, name, name))
        system::unlink(name.c_str());  // while it is locked: see make_temporary
    } catch (const Error&) {
      // Another process's, or gone meanwhile.
    }
  }
} catch (const std::exception&) {
  // A folder that cannot be read: what lies there is not for us to tidy.
}

TemporaryName::~TemporaryName() {
  if (!path.empty()) system::unlink(path.c_str());
}

void give_name(const std::string& temporary, const std::string& target, const FileFacts* replaced) {
  const Has has = replaced == nullptr ? Has::nothing : look_at_name(target, *replaced, target);
  if (has == Has::nothing) return take_name(temporary, target);
  if (has == Has::another) throw_taken(target);
  // An exchange loses nothing, even if another process changes the name at this moment.
  if (system::renameat2(temporary.c_str(), target.c_str(), kExchange) == 0)
    return keep_exchange(temporary, target, *replaced);
  if (errno == ENOENT) return take_name(temporary, target);
  // A file system without it. The name was looked at just now.
  if ((errno == EINVAL || errno == ENOSYS) && system::rename(temporary.c_str(), target.c_str()) == 0) return;
  throw SystemError(system_message(target, "cannot be given its name", errno));
}

void sync_folder(const std::string& path, const File& file) {
  const int fd = system::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder may be writable but not readable: then with all of its file system.
  const bool unreadable = fd < 0 && errno == EACCES;
  const bool done = unreadable ? system::syncfs(file.fd()) == 0 : fd >= 0 && system::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) system::close(fd);
  if (done) return;
  throw SystemError(system_message(path, "has its name, but its folder cannot be put on its device", error) +
                    "; after a power cut it may be gone");
}

}  // namespace holdfast::system
