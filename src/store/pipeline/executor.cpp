// executor.cpp: the cycles of one caller.
#include "store/pipeline/executor.hpp"

#include <thread>

#include "holdfast/error.hpp"

namespace holdfast::store::pipeline {

constexpr auto kLook = std::chrono::microseconds(20);  // between questions whether changes are durable

bool Executor::execute(bool waits) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t seed = shared_.store.seed();
  while (StoreBatch* const batch = queue_.take()) {
    if (is_idle() && shared_.is_staged) end_ = Clock::now() + shared_.cycle;
    for (std::size_t row = 0, rows = batch->size(); row < rows; ++row) {
      Item item{batch, row, 0};
      item.hash = hash_of(Keys::of(Execution::request_of(item)), seed);
      receive(item);
      if (received_->reads.size() + changes_.size() >= kRows) next_cycle();
    }
  }
  if (!is_idle() && (waits || !shared_.is_staged || Clock::now() >= end_)) next_cycle();
  execution_.release();
  return !is_idle();
}

/// A read of a key that the caller changes waits with the changes, for it sees its own.
void Executor::receive(const Item& item) {
  const std::uint32_t mark = Marks::of(item.hash);
  if (Execution::reads(item) && !marks_.has(mark)) return received_->reads.push_back(item);
  changes_.push_back(item);
  change_marks_.push_back(mark);
  marks_.add(mark);
}

void Executor::next_cycle() {
  const bool staged = shared_.is_staged;
  if (staged) end_ = Clock::now() + shared_.cycle;
  if (staged) shared_.cycles.fetch_add(1, std::memory_order_relaxed);
  if (++cycles_ % 2 == 0 || !staged) {
    std::swap(received_->changes, changes_);
    std::swap(received_->marks, change_marks_);
  }
  look_up(*received_);
  if (staged) std::swap(received_, searched_);
  answer(*received_);
}

/// The keys of its reads, and then of its changes.
struct BufferKeys {
  const Buffer& buffer;
  std::span<const std::byte> operator[](std::size_t i) const {
    const std::size_t reads = buffer.reads.size();
    return i < reads ? Keys{buffer.reads}[i] : Keys{buffer.changes}[i - reads];
  }
};

/// Begins a search of the index; for changes, too, if it has batches only. If that fails, the execution meets the same error, or searches itself.
void Executor::look_up(Buffer& buffer) {
  buffer.looked_up = false;
  try {
    buffer.looked_up = shared_.store.search([&](cpu::Engine& engine) {
      buffer.all = engine.index().is_batched();
      const std::size_t rows = buffer.reads.size() + (buffer.all ? buffer.changes.size() : 0);
      if (rows != 0) buffer.lookup.begin(engine, BufferKeys{buffer}, rows);
      return rows != 0;
    });
  } catch (const std::exception&) {
    buffer.looked_up = false;
  }
}

void Executor::answer(Buffer& buffer) {
  const std::size_t reads = buffer.reads.size();
  if (reads != 0 && buffer.looked_up) execution_.run_reads(buffer.reads, buffer.lookup);
  if (!buffer.reads.empty()) execution_.run(buffer.reads);
  execution_.release();
  if (!buffer.changes.empty())
    execution_.run(buffer.changes, buffer.looked_up && buffer.all ? &buffer.lookup : nullptr, reads);
  if (buffer.marks.empty()) return;
  for (const std::uint32_t mark : buffer.marks) marks_.remove(mark);
  buffer.marks.clear();
  for (const auto* left : {&change_marks_, &buffers_[0].marks, &buffers_[1].marks}) {  // some may be the same
    for (const std::uint32_t mark : *left) marks_.add(mark);
  }
}

void Queue::wait(std::uint32_t done) const {
  while (is_here()) {  // ends: changes become durable at some time
    const bool more = executor_->execute(true);
    if (this->done() != done) return;
    if (!more) std::this_thread::sleep_for(kLook);
  }
}

void Queue::finish() const {
  while (is_here() && (inside_.load() || done() != submitted_.load())) {
    if (!executor_->execute(true)) std::this_thread::sleep_for(kLook);
  }
}

}  // namespace holdfast::store::pipeline
