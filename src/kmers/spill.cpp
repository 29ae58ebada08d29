// spill.cpp: writes large pieces, reads runs.
#include "kmers/spill.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::kmers {

namespace {
constexpr std::size_t kPiece = std::size_t{1} << 20;
}

Spill::~Spill() {
  if (file_ >= 0) system::close(file_);
}

void Spill::fail(const char* what, int error) const {
  const std::string where = std::string(what) + " the file of k-mers that do not fit into memory, in " + folder_;
  if (error == ENOSPC || error == EDQUOT) {
    throw NoSpace("no space left to " + where + ": free some, name another folder, or give more memory");
  }
  throw SystemError("cannot " + where + ": " + std::strerror(error));
}

void Spill::create() {
  constexpr int kFlags = O_RDWR | O_CLOEXEC;
  file_ = system::open(folder_.c_str(), kFlags | O_TMPFILE, 0600);
  if (file_ >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOTSUP)) {
    if (file_ < 0) fail("create", errno);
    return;
  }
  // A file system that makes no file without a name: it loses its name at once.
  const std::string path = folder_ + "/.holdfast-kmers-" + std::to_string(getpid()) + "-" +
                           std::to_string(reinterpret_cast<std::uintptr_t>(this));
  file_ = system::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0600);
  if (file_ < 0) fail("create", errno);
  system::unlink(path.c_str());
}

void Spill::append(const std::uint8_t* data, std::size_t bytes) {
  if (file_ < 0) create();
  if (buffer_.size() + bytes > kPiece) flush();
  buffer_.reserve(kPiece);
  buffer_.insert(buffer_.end(), data, data + bytes);
}

void Spill::end(unsigned bin) {
  const std::uint64_t end = written_ + buffer_.size();
  HOLDFAST_ASSERT(end >= begun_);
  if (end > begun_) runs_[bin].push_back({begun_, end - begun_});
  begun_ = end;
}

void Spill::flush() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t put = system::pwrite(file_, buffer_.data() + done, buffer_.size() - done, written_ + done);
    if (put <= 0) fail("write", put == 0 ? ENOSPC : errno);
    done += static_cast<std::size_t>(put);
  }
  written_ += buffer_.size();
  buffer_.clear();
}

void Spill::read(const Run& run, std::uint8_t* to) const {
  HOLDFAST_ASSERT(run.offset + run.bytes <= written_);  // `flush` came before
  for (std::size_t done = 0; done < run.bytes;) {
    const ssize_t got = system::pread(file_, to + done, run.bytes - done, run.offset + done);
    if (got < 0) fail("read", errno);
    if (got == 0) fail("read", EIO);
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace holdfast::kmers
