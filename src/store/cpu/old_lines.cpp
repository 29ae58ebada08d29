// old_lines.cpp: keeps lines, and reads what they had.
#include "store/cpu/old_lines.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store::cpu {

OldLines::OldLines(const std::byte* base, std::uint64_t bytes, std::uint64_t most_kept)
    : base_(base),
      bytes_(bytes),
      most_lines_(most_kept / kLine),
      marks_(bytes / kLine / 8, {.huge_pages = false, .interleave = false}),
      parts_(std::make_unique<Parts[]>(kLocks)) {
  HOLDFAST_ASSERT(bytes % (64 * kLine) == 0);
}

/// By whole words, as a caller may be writing the value of a reserved item there.
void OldLines::copy_line(std::uint64_t line, std::uint64_t* to) const {
  const auto* const from = reinterpret_cast<const std::uint64_t*>(base_ + line * kLine);
  for (unsigned i = 0; i < kLine / 8; ++i) to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

void OldLines::keep_line(std::uint64_t line) {
  // ends: `read` uses what is kept, or `end` is called
  while (kept_.load(std::memory_order_relaxed) >= most_lines_ && !ended_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const std::uint64_t part = line / kLinesInPart, bit = std::uint64_t{1} << line % 64;
  Parts& its = parts_[part % kLocks];
  const std::lock_guard lock(its.lock);
  const std::uint64_t marks = mark(line / 64).load(std::memory_order_relaxed);
  if ((marks & bit) != 0) return;
  if (!ended_.load()) {
    try {
      Line& old = its.kept[part].emplace_back();
      old.number = line;
      copy_line(line, old.words.data());
      kept_.fetch_add(1, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
      lost_.store(true);  // `read` throws, and the change continues
      ended_.store(true);
    }
  }
  mark(line / 64).store(marks | bit, std::memory_order_release);
}

void OldLines::read(const std::byte* from, std::uint64_t bytes, std::byte* to) {
  const std::uint64_t begin = static_cast<std::uint64_t>(from - base_) / kLine, end = begin + bytes / kLine;
  HOLDFAST_ASSERT(covers(from, bytes) && begin % 64 == 0 && end % 64 == 0);
  for (std::uint64_t line = begin; line < end;) {
    const std::uint64_t part = line / kLinesInPart, next = std::min(end, (part + 1) * kLinesInPart);
    read_part(part, line, next, reinterpret_cast<std::uint64_t*>(to + (line - begin) * kLine));
    line = next;
  }
  if (lost_.load()) {
    throw NoSpace(
        "the system has no memory to keep what a store had when its snapshot began: free memory, and try again");
  }
}

/// Lines from `first` up to `end`, all of one part.
void OldLines::read_part(std::uint64_t part, std::uint64_t first, std::uint64_t end, std::uint64_t* to) {
  for (std::uint64_t line = first; line < end; ++line) copy_line(line, to + (line - first) * (kLine / 8));
  for (const Line& old : take_kept(part, first, end)) {
    std::memcpy(to + (old.number - first) * (kLine / 8), old.words.data(), kLine);
  }
}

/// Marks the lines, and returns those of them that were kept.
std::vector<OldLines::Line> OldLines::take_kept(std::uint64_t part, std::uint64_t first, std::uint64_t end) {
  std::vector<Line> taken;
  Parts& its = parts_[part % kLocks];
  const std::lock_guard lock(its.lock);
  for (std::uint64_t word = first / 64; word < end / 64; ++word) {
    mark(word).store(~std::uint64_t{0}, std::memory_order_release);
  }
  const auto kept = its.kept.find(part);
  if (kept == its.kept.end()) return taken;
  std::vector<Line>& all = kept->second;
  const auto is_other = [&](const Line& old) { return old.number < first || old.number >= end; };
  const auto begin = std::partition(all.begin(), all.end(), is_other);
  if (begin == all.begin()) {
    taken.swap(all);
    its.kept.erase(kept);
  } else {
    taken.assign(begin, all.end());
    all.erase(begin, all.end());
  }
  kept_.fetch_sub(taken.size(), std::memory_order_relaxed);
  return taken;
}

void OldLines::end() {
  ended_.store(true);
  for (std::uint64_t i = 0; i < kLocks; ++i) {
    const std::lock_guard lock(parts_[i].lock);
    parts_[i].kept = {};
  }
}

}  // namespace holdfast::store::cpu
