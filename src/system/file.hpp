// file.hpp: the file under a pool: opened without surprises, given space before it is mapped, and closed with its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "system/fork.hpp"

namespace holdfast::system {

/// "what: path: reason of errno". Begins with the path so that messages read alike.
std::string system_message(const std::string& path, const std::string& what, int error);

/// Which file it is, whatever it is called, and how large.
struct FileFacts {
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocated = 0;  ///< bytes that have space on the medium; fewer if the file is sparse
  std::uint64_t links = 0;      ///< 0: it has no name, and dies with the last process that holds it
  bool same_file(const FileFacts& other) const { return device == other.device && inode == other.inode; }
};

/// Types of file systems, by their numbers in linux/magic.h.
inline constexpr std::uint32_t kTmpfs = 0x01021994;
inline constexpr std::uint32_t kRamfs = 0x858458f6;
inline constexpr std::uint32_t kHugetlbfs = 0x958458f6;

/// What a file lies in.
struct FileSystem {
  std::uint32_t type = 0;
  std::uint64_t block_bytes = 0;  ///< of a hugetlbfs: the size of its pages
};

/// A range of a file.
struct FileRange {
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t end() const { return offset + bytes; }
};

/// An open regular file. Movable.
class File {
 public:
  File() = default;
  File(File&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_), process_(other.process_) {
    other.fd_ = -1;
  }
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  /// Opens a regular file, following links. Never blocks on a FIFO and never touches a device.
  /// Throws PoolNotFound, MediumError (not a regular file, no permission, read-only), SystemError.
  static File open(const std::string& path, bool writable);
  /// Makes an empty file that only its owner may use, whatever the umask; in errors it is called `shown`. Throws MediumError,
  /// NoSpace, SystemError; returns a closed File if the name is taken.
  static File make(const std::string& path, const std::string& shown);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }
  /// Unlocks and closes it. In a forked child it is closed already, and the lock is the parent's.
  void close() noexcept;
  /// True in a process forked from the one that opened it.
  bool forked() const { return is_open() && !process_.is_this(); }

  FileFacts facts() const;
  FileSystem file_system() const;
  /// Reads up to `bytes` at `offset`; returns how many there were.
  std::size_t read(void* data, std::size_t bytes, std::uint64_t offset) const;
  void resize(std::uint64_t bytes) const;
  /// Takes space on the medium for [offset, offset + bytes), zero where it was not used before; the file grows to hold it.
  /// Throws NoSpace; then the file is as long as before.
  void allocate(std::uint64_t offset, std::uint64_t bytes) const;
  /// Gives the space of a range back to the medium, where it can take it. The range stays part of the file, and is of any content.
  void punch(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Gives a range separate blocks, where a copy shares them with its original, as far as the file system can. Throws NoSpace.
  void unshare(const FileRange& range) const;
  /// Writes what a range holds once more: for what no sync brings to the device otherwise. Throws SystemError.
  void rewrite(std::uint64_t offset, std::uint64_t bytes) const;
  /// Puts all of it on its device.
  void sync_data() const;

 private:
  File(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  static int open_watched(const std::string& path, int flags);

  std::string path_;
  int fd_ = -1;
  OwningProcess process_;
};

/// Seeks the holes of a file that stands still. To find the end of a hole, or of data, the kernel may walk over all that is behind it, on
/// a tmpfs page by page; so what it said last is kept, and ranges that are asked about in ascending order cost one walk together.
class Holes {
 public:
  explicit Holes(const File& file) : file_(&file) {}
  /// The whole pages of a range that read as zero and may have no space on the medium; none where the file system does not say.
  std::vector<FileRange> in(const FileRange& range);

 private:
  /// Of the hole or the data around `at`: sets the one that it lies in. False: the file system does not say.
  bool look(std::uint64_t at);

  const File* file_;
  std::uint64_t begin_ = 0, end_ = 0;  ///< of what was seen last
  bool hole_ = false;                  ///< it is one
};

/// What there is at `path`, links followed. Throws MediumError for anything but a regular file, and for a missing folder.
enum class AtPath { nothing, file };
AtPath look_at(const std::string& path, FileFacts* facts = nullptr);

}  // namespace holdfast::system
