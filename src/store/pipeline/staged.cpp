// staged.cpp: the scheduler and the sender.
#include "store/pipeline/staged.hpp"

#include <thread>

#include "core/hash.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store::pipeline {

using Clock = std::chrono::steady_clock;

std::uint32_t Marks::of(std::size_t source, std::span<const std::byte> key) {
  const auto word = [&](std::uint64_t i) { return padded_word(key.data(), key.size(), i); };
  return static_cast<std::uint32_t>(hash_bytes(key.size(), source, word) >> (64 - kBits));
}

Staged::Staged(Shared& shared, unsigned first, unsigned step, double cycle_us)
    : shared_(shared),
      cycle_(static_cast<std::int64_t>(cycle_us * 1000)),
      sources_(shared, first, step),
      execution_(shared) {
  for (Buffer& buffer : buffers_) {
    buffer.reads.reserve(kRows);
    buffer.changes.reserve(2 * kRows);
    buffer.marks.reserve(2 * kRows);
    free_.put(&buffer);
  }
  changes_.reserve(2 * kRows);
  change_marks_.reserve(2 * kRows);
}

void Staged::schedule() {
  auto begin = Clock::now();
  while (!sources_.is_done() || !changes_.empty()) {  // ends: when the pipeline closes
    Buffer& buffer = *free_.take();
    for (const std::uint32_t mark : buffer.marks) marks_.remove(mark);  // its changes were executed
    buffer.marks.clear();
    cycles_.fetch_add(1, std::memory_order_release);
    const bool any = receive(buffer);
    if (cycles() % 2 == 0) {
      std::swap(buffer.changes, changes_);
      std::swap(buffer.marks, change_marks_);
    }
    look_up(buffer);
    const bool idle = !any && changes_.empty() && buffer.changes.empty();
    scheduled_.put(&buffer);
    if (idle) {
      bell_.wait([&] { return sources_.has_work() || shared_.closing.load(); });
      begin = Clock::now();
    }
    begin = std::max(begin + cycle_, Clock::now() - cycle_);  // one that was late is not made up for by many short ones
    std::this_thread::sleep_until(begin);
  }
  scheduled_.put(nullptr);
}

/// What callers have submitted since the last cycle. Reads of keys that the caller changes wait with the changes, for it sees its own. False: nothing.
bool Staged::receive(Buffer& buffer) {
  std::size_t rows = 0;
  const auto more = [&] { return rows < kRows && changes_.size() < kRows; };
  return sources_.collect(more, [&](const Item& item, std::size_t source) {
    ++rows;
    const bool reads = Execution::reads(item);
    const std::uint32_t mark = !reads || marks_.any() ? Marks::of(source, Keys{{&item, 1}}[0]) : 0;
    if (reads && !(marks_.any() && marks_.has(mark))) return buffer.reads.push_back(item);
    changes_.push_back(item);
    change_marks_.push_back(mark);
    marks_.add(mark);
  });
}

/// Searches the index. If that fails, the sender meets the same error, or searches itself.
void Staged::look_up(Buffer& buffer) {
  buffer.looked_up = false;
  if (buffer.reads.empty()) return;
  try {
    buffer.looked_up = shared_.store.search([&](cpu::Engine& engine) {
      buffer.lookup.look_up(engine, Keys{buffer.reads}, buffer.reads.size());
      return true;
    });
  } catch (const std::exception&) {
    buffer.looked_up = false;
  }
}

void Staged::send() {
  for (bool ends = false; !ends || execution_.holds_answers();) {  // ends: the scheduler does
    if (ends || (scheduled_.is_empty() && execution_.holds_answers())) {
      std::this_thread::sleep_for(Queue::kLook);
    } else if (Buffer* const buffer = scheduled_.take()) {
      if (!buffer->reads.empty()) execution_.run(buffer->reads, buffer->looked_up ? &buffer->lookup : nullptr);
      execution_.release();
      if (!buffer->changes.empty()) execution_.run(buffer->changes);
      free_.put(buffer);
    } else {
      ends = true;
    }
    execution_.release();
  }
}

}  // namespace holdfast::store::pipeline
