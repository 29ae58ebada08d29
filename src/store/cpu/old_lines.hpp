// old_lines.hpp: the bytes that a heap had at one moment, for a snapshot that copies them while changes run.
//
//   the moment   no change runs; from here on `keep` comes before every store
//   keep         of a line without a mark, under its lock: the line's bytes are kept, and the line is marked
//   read         lines are copied; then, under the lock: those that were kept meanwhile or before are replaced by what was kept, and all are marked
//
// A line without a mark has the bytes of the moment: nothing is stored to it before it is marked. So no line is read twice, however fast it
// changes. Locks are held for moments, for a thread that holds one may be interrupted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "structures/dramhit/pages.hpp"

namespace holdfast::store::cpu {

class OldLines {
 public:
  static constexpr std::uint64_t kLine = 64;

  /// Of `bytes` bytes at `base`, whole pages of 4 KiB. If about `most_kept` bytes are kept, changes wait until `read` has used some of them. Throws NoSpace.
  OldLines(const std::byte* base, std::uint64_t bytes, std::uint64_t most_kept);

  bool covers(const std::byte* from, std::uint64_t bytes) const {
    return from >= base_ && static_cast<std::uint64_t>(from - base_) + bytes <= bytes_;
  }
  /// Called before these bytes change. Bytes elsewhere, such as those of the record, are not kept. Thread-safe.
  void keep(const void* from, std::uint64_t bytes) {
    const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(from) - base_);
    if (begin >= bytes_) return;  // also if it lies before `base_`
    const std::uint64_t last = std::min(begin + bytes, bytes_) - 1;
    for (std::uint64_t line = begin / kLine; line <= last / kLine; ++line) {
      if ((mark(line / 64).load(std::memory_order_acquire) >> line % 64 & 1) == 0) keep_line(line);
    }
  }
  /// Copies whole pages of 4 KiB as they were. A page is read once. Thread-safe. Throws NoSpace if there was no memory to keep a line.
  void read(const std::byte* from, std::uint64_t bytes, std::byte* to);
  /// From here on nothing is kept, and no change waits. What was kept is gone. Changes may run.
  void end();

  std::uint64_t kept() const { return kLine * kept_.load(std::memory_order_relaxed); }  ///< bytes, now

 private:
  struct Line {
    std::uint64_t number;
    std::array<std::uint64_t, kLine / 8> words;
  };
  static constexpr std::uint64_t kLinesInPart = 1024, kLocks = 256;
  /// For every kLocks-th part of the heap.
  struct alignas(64) Parts {
    std::mutex lock;
    std::unordered_map<std::uint64_t, std::vector<Line>> kept;
  };

  using Mark = std::atomic_ref<std::uint64_t>;
  /// Bit i: line 64 * word + i. Stored under the part's lock.
  Mark mark(std::uint64_t word) const { return Mark(reinterpret_cast<std::uint64_t*>(marks_.data())[word]); }
  void copy_line(std::uint64_t line, std::uint64_t* to) const;
  void keep_line(std::uint64_t line);
  void read_part(std::uint64_t part, std::uint64_t first, std::uint64_t end, std::uint64_t* to);
  std::vector<Line> take_kept(std::uint64_t part, std::uint64_t first, std::uint64_t end);

  const std::byte* const base_;
  const std::uint64_t bytes_, most_lines_;
  const dramhit::Pages marks_;
  const std::unique_ptr<Parts[]> parts_;
  std::atomic<std::uint64_t> kept_ = 0;  ///< lines
  std::atomic<bool> ended_ = false, lost_ = false;
};

}  // namespace holdfast::store::cpu
