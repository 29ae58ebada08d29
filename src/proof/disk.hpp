// disk.hpp: what the device under a folder may hold while its files are written, synced and renamed; and so what a crash leaves.
//
// A page that was written and not synced may be on the device as it was when last synced, or with any content that it had since;
// so may the length of a file. Names change on the device when their folder is synced; before, any of the changes may be there and
// any not, each whole. That is more than any file system leaves, and less than POSIX allows it to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::proof {

inline constexpr std::size_t kDiskPage = 4096;
inline constexpr std::size_t kDiskLine = 64;  ///< of persistent memory
using PageBytes = std::array<std::byte, kDiskPage>;
/// A page's content; of equal contents there is one. Null: zeros.
using Page = std::shared_ptr<const PageBytes>;

/// A file: for each page, and for the length, what the device may have, oldest first. The first is what was synced.
struct FileHistory {
  std::vector<std::vector<Page>> pages;
  std::vector<std::uint64_t> lengths;
};

/// Names that change together: each gets a file's number, or none.
inline constexpr int kNoFile = -1;
using NameChange = std::vector<std::pair<std::string, int>>;

/// All that a crash at one moment can leave.
struct Moment {
  std::vector<std::shared_ptr<const FileHistory>> files;  ///< by number
  std::map<std::string, int> names;                       ///< on the device
  std::vector<NameChange> changes;                        ///< that may be there too, in order
};

class Disk {
 public:
  /// A file that is there, of these bytes, all synced. Returns its number.
  int add(const std::byte* bytes, std::uint64_t length);
  /// Says what a file holds now. True if that is new.
  bool see(int file, const std::byte* bytes, std::uint64_t length);
  void sync(int file);
  void sync(int file, std::uint64_t offset, std::uint64_t bytes);  ///< this range, and that the file reaches to its end
  /// A sync of the range that failed: the kernel counts its pages as clean, though the device has not got them. Only what is written
  /// anew can come there.
  void fail_sync(int file, std::uint64_t offset, std::uint64_t bytes);

  /// Persistent memory: what a line of 64 bytes holds now, to be `settle`d by a fence. Offsets are of lines.
  struct FlushedLine {
    int file;
    std::uint64_t offset;
    Page content;  ///< of its page
  };
  FlushedLine flush(int file, std::uint64_t offset) const;
  /// The line is on the device as it was flushed, or as it has been since.
  void settle(const FlushedLine& line);

  /// What a range holds was written anew: the next sync brings it to the device.
  void rewrite(int file, std::uint64_t offset, std::uint64_t bytes);

  void name(const std::string& name, int file) { now_.names[name] = file; }  ///< on the device already
  void change_names(NameChange change) { now_.changes.push_back(std::move(change)); }
  void sync_names();
  /// The file that has the name now; kNoFile: none.
  int named(const std::string& name) const;

  const Moment& now() const { return now_; }

 private:
  FileHistory& change(int file);
  void settle(int file, std::size_t first, std::size_t end);
  Page interned(const std::byte* bytes, std::size_t length);

  Moment now_;
  std::vector<std::shared_ptr<FileHistory>> files_;  ///< the same as in now_
  std::vector<std::vector<std::size_t>> stuck_;  ///< by file and page: how many versions no sync brings to the device
  std::unordered_multimap<std::uint64_t, Page> known_;  ///< by checksum
};

/// The names after some of the changes.
std::map<std::string, int> names_after(const Moment& moment, const std::vector<bool>& which);

}  // namespace holdfast::proof
