// bulk_writer.cpp: direct writes, and a fallback for file systems without them.
#include "system/bulk_writer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/bits.hpp"
#include "holdfast/error.hpp"
#include "system/calls.hpp"
#include "system/mapping.hpp"
#include "system/pages.hpp"

namespace holdfast::system {

namespace {

constexpr std::uint64_t kZeroStep = std::uint64_t{1} << 20;  // zeros are looked for in steps of so many bytes

bool is_zero(const std::byte* at, std::uint64_t bytes) {
  // The first word decides nearly always; memcmp of the range with itself, one byte on, does the rest at memory's speed.
  return at[0] == std::byte{0} && std::memcmp(at, at + 1, bytes - 1) == 0;
}

}  // namespace

BulkWriter::BulkWriter(const File& file, std::uint64_t granule) : file_(file), granule_(granule) {
  if (granule_ == kPage) set_direct(true);
}

BulkWriter::~BulkWriter() { set_direct(false); }

void BulkWriter::set_direct(bool on) {
  if (direct_ == on) return;
  const int flags = system::get_flags(file_.fd());
  const int wanted = on ? flags | O_DIRECT : flags & ~O_DIRECT;
  if (flags >= 0 && system::set_flags(file_.fd(), wanted) == 0) direct_ = on;
}

void BulkWriter::write(const std::byte* from, std::uint64_t bytes, std::uint64_t offset) {
  for (std::uint64_t at = 0; at < bytes;) {
    std::uint64_t end = at;
    while (end < bytes && !is_zero(from + end, std::min(kZeroStep, bytes - end)))
      end = std::min(bytes, end + kZeroStep);
    if (end != at) {
      write_range(from + at, end - at, offset + at);
      written_ += end - at;
    }
    at = std::min(bytes, end + kZeroStep);  // beyond the zeros that ended the range, or the end
  }
}

void BulkWriter::write_range(const std::byte* from, std::uint64_t bytes, std::uint64_t offset) {
  if (granule_ != kPage) return write_by_mapping(from, bytes, offset);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t wrote = system::pwrite(file_.fd(), from + done, bytes - done, offset + done);
    if (wrote > 0) {
      done += static_cast<std::uint64_t>(wrote);
      continue;
    }
    const int error = wrote == 0 ? ENOSPC : errno;
    if (direct_ && (error == EINVAL || error == EFAULT || error == EOPNOTSUPP)) {
      set_direct(false);  // this file system, or this memory, does not take part: through the page cache, then
      continue;
    }
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
      throw NoSpace(file_.path() + " needs " + std::to_string(bytes - done) +
                    " bytes more, and its medium has no space: " + std::strerror(error) +
                    "; make space there, or name a file on a larger medium");
    }
    throw SystemError(system_message(file_.path(), "cannot be written", error));
  }
  // Through the page cache the disk begins now, and not with the sync at the end. Only speed depends on it.
  if (!direct_) system::sync_file_range(file_.fd(), offset, bytes);
}

void BulkWriter::write_by_mapping(const std::byte* from, std::uint64_t bytes, std::uint64_t offset) const {
  const std::uint64_t begin = offset / granule_ * granule_;
  const std::uint64_t size = round_up(offset + bytes, granule_) - begin;
  std::byte* const mapped = map_file(file_, begin, size, {.granule = granule_}, false);
  std::memcpy(mapped + (offset - begin), from, bytes);
  unmap(mapped, size);
}

}  // namespace holdfast::system
