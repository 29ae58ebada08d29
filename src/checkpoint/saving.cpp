// saving.cpp: a save: its caller copies the tensors into the pool, a thread computes checksums and lets the copy count.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "checkpoint/checkpoint_object.hpp"
#include "holdfast/error.hpp"
#include "pool/edit.hpp"

namespace holdfast::checkpoint {

using memory::Edit;
using memory::Extent;

int CheckpointObject::oldest() const {
  int best = -1;
  for (unsigned i = 0; i < copies(); ++i) {
    const Copy& copy = copies_[i];
    if (copy.busy || copy.held != 0 || (word_ != 0 && i == copy_in(word_))) continue;
    if (best < 0 || copy.sequence < copies_[static_cast<unsigned>(best)].sequence) best = static_cast<int>(i);
  }
  return best;
}

/// An extent of so many bytes in place of one that is too small, in one commit.
void CheckpointObject::make_space(unsigned copy, std::uint64_t bytes) {
  memory::Range& range = copies_[copy].range;
  if (range.bytes >= bytes) return;
  const auto index = static_cast<std::uint16_t>(copy);
  Edit edit(pool());
  if (range.address != nullptr) edit.free(number(), kCopyRole, index);
  const Extent extent =
      edit.add(number(), kCopyRole, index, pool().rounded(bytes + bytes / 16));  // texts vary in length
  memory::Range made = pool().map(extent.offset, extent.bytes, true);
  try {
    std::memset(made.address, 0, sizeof(CopyHeader));
    persist().flush(made.address, sizeof(CopyHeader));
    persist().fence();
    pool().settle(made);
    edit.commit();
  } catch (...) {
    memory::unmap(made.address, made.mapped);
    throw;
  }
  memory::unmap(range.address, range.mapped);
  range = made;
  copies_[copy].sequence = 0;
}

std::shared_future<void> CheckpointObject::save(std::uint64_t step, std::span<const TensorView> tensors,
                                                std::string_view text, bool wait) {
  Plan made = plan(tensors, text);
  const std::lock_guard in_order(saving_);
  std::unique_lock lock(mutex_);
  require_writable();
  pool().notice_removal(~std::size_t{0});
  require_writable();
  if (stopping_) throw TableClosed(path() + " is closed: open it again");
  if (next_sequence_ == kSequences) throw SystemError(path() + " has had all the saves that there may be");
  int chosen = oldest();
  if (chosen < 0 && !wait) {
    throw ObjectInUse("all copies of " + path() +
                      " are being saved or read: wait for a ticket, or give it more copies");
  }
  changed_.wait(lock, [&] { return (chosen = oldest()) >= 0; });
  const auto copy = static_cast<unsigned>(chosen);
  make_space(copy, made.bytes());
  std::promise<void> done;
  std::shared_future<void> future = done.get_future().share();
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  copies_[copy].busy = true;
  copies_[copy].sequence = 0;
  ++in_flight_;
  made.header.sequence = next_sequence_++;
  made.header.step = step;
  made.header.created = static_cast<std::uint64_t>(std::time(nullptr));
  lock.unlock();
  try {
    memory::HeaderMemory memory = pool().header_memory(persist());
    withdraw(memory, header(copy));
    std::byte* const begin = copies_[copy].range.address;
    std::memcpy(begin + sizeof(CopyHeader), made.catalogue.data(), made.catalogue.size());
    std::byte* const data = begin + made.header.data_offset;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorEntry& entry = made.entries[i];
      const std::uint64_t end = entry.offset + entry.bytes;
      const std::uint64_t next = i + 1 < tensors.size() ? made.entries[i + 1].offset : made.header.data_bytes;
      if (entry.bytes != 0) std::memcpy(data + entry.offset, tensors[i].data, entry.bytes);
      if (next > end) std::memset(data + end, 0, next - end);
    }
  } catch (...) {
    lock.lock();
    copies_[copy].busy = false;
    --in_flight_;
    changed_.notify_all();
    throw;
  }
  lock.lock();
  jobs_.push_back({copy, std::move(made), std::move(done)});
  changed_.notify_all();
  return future;
}

void CheckpointObject::finish(Job& job) {
  CopyHeader& next = job.plan.header;
  std::byte* const begin = copies_[job.copy].range.address;
  auto* const sums = reinterpret_cast<std::uint64_t*>(begin + job.plan.sums_offset());
  const std::uint64_t blocks = blocks_of(next.data_bytes);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    sums[block] =
        block_checksum(begin + next.data_offset + block * kBlock, std::min(kBlock, next.data_bytes - block * kBlock));
  }
  next.catalogue_checksum = checksum(begin + sizeof next, job.plan.catalogue.size() + 8 * blocks);
  memory::seal(next);
  memory::HeaderMemory memory = pool().header_memory(persist());
  fill(memory, header(job.copy), next, job.plan.bytes() - sizeof next);
  memory::HeaderMemory last = pool().header_memory(persist());
  switch_to(last, word(), next.sequence, job.copy);
  pool().require_whole();
}

void CheckpointObject::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ ? in_flight_ == 0 || !jobs_.empty() : !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      finish(job);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    Copy& copy = copies_[job.copy];
    copy.busy = false;
    --in_flight_;
    if (!error) {
      copy.sequence = job.plan.header.sequence;
      word_ = word_of(copy.sequence, job.copy);
      word_damaged_ = false;
    }
    changed_.notify_all();
    error ? job.done.set_exception(error) : job.done.set_value();
  }
}

void CheckpointObject::drain() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ == 0; });
}

void CheckpointObject::stop() {
  if (forked()) {
    if (thread_.joinable()) new std::thread(std::move(thread_));  // it did not come along, and cannot be joined
    return;
  }
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace holdfast::checkpoint
