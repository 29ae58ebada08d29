// saving.cpp: a save: its caller copies the tensors into the pool, or lets a GPU do it; a thread completes the checksums, and lets
// the copy count.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include "checkpoint/blocks.hpp"
#include "checkpoint/checkpoint_object.hpp"
#include "core/bits.hpp"
#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "pool/edit.hpp"

namespace holdfast::checkpoint {

using pool::Edit;
using pool::Extent;

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
  HOLDFAST_ASSERT(!copies_[copy].busy && copies_[copy].held == 0);
  pool::Range& range = copies_[copy].range;
  if (range.bytes >= bytes) return;
  const auto index = static_cast<std::uint16_t>(copy);
  Edit edit(pool());
  if (range.address != nullptr) edit.free(number(), kCopyRole, index);
  const Extent extent =
      edit.add(number(), kCopyRole, index, pool().rounded(bytes + bytes / 16));  // texts vary in length
  pool::Range made = pool().map(extent.offset, extent.bytes, true);
  try {
    std::memset(made.address, 0, sizeof(CopyHeader));
    persist().flush(made.address, sizeof(CopyHeader));
    persist().fence();
    pool().settle(made);
    edit.commit();
  } catch (...) {
    system::unmap(made.address, made.mapped);
    throw;
  }
  forget(range);
  system::unmap(range.address, range.mapped);
  range = made;
  copies_[copy].sequence = 0;
}

void CheckpointObject::require_open() const {
  if (stopping_) throw ObjectClosed(path() + " is closed: open it again");
}

void CheckpointObject::start_thread() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    throw SystemError(path() + " can start no thread to complete saves: " + error.what() +
                      "; raise the limit of threads (ulimit -u) or of memory, or end some");
  }
}

std::shared_future<void> CheckpointObject::save(std::uint64_t step, std::shared_ptr<const Layout> layout,
                                                std::string_view text, const SaveOptions& options) {
  Plan made(std::move(layout), text);
  const std::lock_guard in_order(saving_);
  std::unique_lock lock(mutex_);
  pool().require_kept();
  require_writable();
  pool().notice_removal(~std::size_t{0});
  require_writable();
  require_open();
  if (next_sequence_ == kSequences) throw SystemError(path() + " has had all the saves that there may be");
  int chosen = oldest();
  if (!options.wait && holds_ != 0) {
    throw ObjectInUse("a snapshot copies " + path() + ": save when it has ended, or let the save wait");
  }
  if (!options.wait && chosen < 0) {
    throw ObjectInUse("all copies of " + path() +
                      " are being saved or read: wait for a ticket, or give it more copies");
  }
  changed_.wait(lock, [&] { return stopping_ || (holds_ == 0 && (chosen = oldest()) >= 0); });
  require_open();  // it was closed while this save waited for a copy
  pool().keep_space();
  const auto copy = static_cast<unsigned>(chosen);
  HOLDFAST_ASSERT(word_ == 0 || copy != copy_in(word_));  // the newest state stays until the next one counts
  make_space(copy, made.bytes());
  std::list<Job> made_job;  // a node of `jobs_`: nothing is allocated once the save is under way
  made_job.push_back({copy, std::move(made), nullptr, {}});
  Job& job = made_job.back();
  std::shared_future<void> future = job.done.get_future().share();
  start_thread();
  copies_[copy].busy = true;
  copies_[copy].sequence = 0;
  ++in_flight_;
  CopyHeader& next = job.plan.header;
  next.sequence = next_sequence_++;
  next.step = step;
  next.created = static_cast<std::uint64_t>(std::time(nullptr));
  lock.unlock();
  try {
    const pool::HeaderMemory memory = pool().header_memory(persist());
    withdraw(memory, header(copy));
    job.transfer = copy_tensors(copies_[copy].range, job.plan, options);
    HOLDFAST_FAILPOINT(state_copied);
  } catch (...) {
    lock.lock();
    copies_[copy].busy = false;
    --in_flight_;
    changed_.notify_all();
    throw;
  }
  lock.lock();
  jobs_.splice(jobs_.end(), made_job);
  changed_.notify_all();
  return future;
}

/// Tensors of the CPU are in the copy when this returns, those of a GPU when the transfer has ended.
std::unique_ptr<Transfer> CheckpointObject::copy_tensors(const pool::Range& range, const Plan& plan,
                                                         const SaveOptions& options) {
  const Layout& layout = *plan.layout;
  const CopyParts parts = plan.parts(range.address);
  std::unique_ptr<Transfer> transfer;
  plan.write_catalogue(range.address);
  if (!layout.device.empty()) {
    device().map(range.address, range.mapped, false);
    transfer = device().save(layout.plan ? layout.plan : device().plan(layout.device, layout.device_bytes), parts,
                             layout.device_blocks(), options.stream, options.stage);
  }
  for (const Placed& tensor : layout.host) {
    const std::uint64_t end = tensor.offset + tensor.bytes;
    std::memcpy(parts.data + tensor.offset, tensor.memory, tensor.bytes);
    std::memset(parts.data + end, 0, round_up(end, kAlignment) - end);
  }
  return transfer;
}

void CheckpointObject::finish(Job& job) {
  CopyHeader& next = job.plan.header;
  std::byte* const begin = copies_[job.copy].range.address;
  const CopyParts parts = job.plan.parts(begin);
  const std::uint64_t blocks = blocks_of(parts.data_bytes);
  Checksum catalogue(job.plan.catalogue_bytes() + 8 * blocks);
  catalogue.add(begin + sizeof next, job.plan.catalogue_bytes());  // while the GPU copies
  std::uint64_t summed = 0;
  if (job.transfer) {
    job.transfer->wait();
    summed = job.plan.layout->device_blocks();
  }
  sum_blocks(parts.data, parts.data_bytes, summed, blocks, parts.sums);
  catalogue.add(parts.sums, 8 * blocks);
  next.catalogue_checksum = catalogue.end();
  pool::seal(next);
  require_writable();  // after a failed sync no later save counts: it would make the one that failed an older state
  const pool::HeaderMemory memory = pool().header_memory(persist());
  fill(memory, header(job.copy), next, job.plan.bytes() - sizeof next);
  const pool::HeaderMemory last = pool().header_memory(persist());
  switch_to(last, word(), next.sequence, job.copy);
  pool().require_whole();
}

void CheckpointObject::work() {
  std::unique_lock lock(mutex_);
  // ends: `stop` is called once, and from then on no job is added
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ ? in_flight_ == 0 || !jobs_.empty() : !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::list<Job> taken;
    taken.splice(taken.end(), jobs_, jobs_.begin());
    Job& job = taken.front();
    lock.unlock();
    std::exception_ptr error;
    try {
      finish(job);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    Copy& copy = copies_[job.copy];
    HOLDFAST_ASSERT(copy.busy && in_flight_ != 0);
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

void CheckpointObject::hold_saves() {
  std::unique_lock lock(mutex_);
  ++holds_;
  changed_.wait(lock, [&] { return in_flight_ == 0; });
}

void CheckpointObject::resume_saves() noexcept {
  const std::lock_guard guard(mutex_);
  HOLDFAST_ASSERT(holds_ != 0);
  --holds_;
  changed_.notify_all();
}

void CheckpointObject::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace holdfast::checkpoint
