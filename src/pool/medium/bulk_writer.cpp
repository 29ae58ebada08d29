// bulk_writer.cpp: direct writes, a fallback for file systems without them, and the threads that keep a disk busy.
#include "pool/medium/bulk_writer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/bits.hpp"
#include "holdfast/error.hpp"
#include "pool/medium/mapping.hpp"
#include "pool/medium/system.hpp"
#include "pool/superblock.hpp"

namespace holdfast::memory {

namespace {

constexpr std::uint64_t kZeroStep = std::uint64_t{1} << 20;  // zeros are looked for in steps of so many bytes
constexpr auto kBetweenQuestions = std::chrono::milliseconds(20);

bool is_zero(const std::byte* at, std::uint64_t bytes) {
  // The first word decides nearly always; memcmp of the range with itself, one byte on, does the rest at memory's speed.
  return at[0] == std::byte{0} && std::memcmp(at, at + 1, bytes - 1) == 0;
}

/// `wanted` threads, or as many as the system starts.
void start(std::vector<std::thread>& team, unsigned wanted, const std::function<void()>& work) {
  try {
    while (team.size() < wanted) team.emplace_back(work);
  } catch (const std::exception& error) {  // a limit of threads, or of memory for them
    if (!team.empty()) return;
    throw SystemError(std::string("no thread can be started: ") + error.what() +
                      "; raise the limit of threads (ulimit -u) or of memory, or end some");
  }
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
      write_stretch(from + at, end - at, offset + at);
      written_ += end - at;
    }
    at = std::min(bytes, end + kZeroStep);  // beyond the zeros that ended the stretch, or the end
  }
}

void BulkWriter::write_stretch(const std::byte* from, std::uint64_t bytes, std::uint64_t offset) {
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
                    " bytes more, and its medium has no room: " + std::strerror(error) +
                    "; make room there, or name a file on a larger medium");
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

bool in_parallel(std::uint64_t total, std::uint64_t step, unsigned threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& part,
                 const std::function<bool(std::uint64_t)>& go_on) {
  std::atomic<std::uint64_t> next = 0, done = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable ended;
  std::exception_ptr error;
  unsigned running = threads;
  bool wanted = go_on(0);
  if (!wanted) return false;
  const auto work = [&] {
    try {
      for (std::uint64_t begin; !stop && (begin = next.fetch_add(step)) < total;) {
        const std::uint64_t end = std::min(total, begin + step);
        part(begin, end);
        done += end - begin;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    --running;
    ended.notify_one();
  };
  std::vector<std::thread> team;
  const auto finish = [&] {
    for (std::thread& thread : team) thread.join();
  };
  try {
    start(team, threads, work);
    {
      const std::lock_guard lock(mutex);
      running -= threads - static_cast<unsigned>(team.size());
    }
    for (bool all_ended = false; !all_ended;) {
      {
        std::unique_lock lock(mutex);
        all_ended = ended.wait_for(lock, kBetweenQuestions, [&] { return running == 0; });
      }
      if (!stop) wanted = go_on(done);  // once more when all is done, so that the end is told too
      stop = stop || !wanted;
    }
  } catch (...) {
    stop = true;
    finish();
    throw;
  }
  finish();
  if (error) std::rethrow_exception(error);
  return wanted;
}

}  // namespace holdfast::memory
