// bins.cpp: blocks of memory, from bin to bin, and into the file when they are too many.
#include "kmers/bins.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kSlab = std::size_t{256} << 10;
constexpr std::size_t kLargestBlock = 4096, kSmallestBlock = 512;
constexpr unsigned kLeastBinBits = 4;
constexpr std::size_t kAtOnce = 16;  ///< blocks that a thread takes, and gives

}  // namespace

Bins::Sizes Bins::sizes_for(unsigned wanted_bits, unsigned threads, std::size_t budget) {
  Sizes sizes{wanted_bits, kLargestBlock, budget};
  // Blocks that are being filled may take a quarter.
  const auto open = [&] { return (std::size_t{1} << sizes.bits) * threads * sizes.block_bytes; };
  while (open() > budget / 4 && sizes.block_bytes > kSmallestBlock) sizes.block_bytes /= 2;
  while (open() > budget / 4 && sizes.bits > kLeastBinBits) --sizes.bits;
  return sizes;
}

Bins::Bins(const Sizes& sizes, std::string folder)
    : sizes_(sizes), first_(std::size_t{1} << sizes.bits), spill_(std::move(folder), 1u << sizes.bits) {}

void Bins::Unmap::operator()(std::byte* memory) const { system::munmap(memory, bytes); }

void Bins::put(Filled& full) {
  for (const auto& [bin, block] : full) {
    HOLDFAST_ASSERT(bin < count() && block->used <= space());
    block->next = first_[bin];
    first_[bin] = block;
  }
  full.clear();
}

void Bins::take(Filled& full) {
  const std::lock_guard lock(mutex_);
  put(full);
}

void Bins::exchange(Filled& full, std::vector<Block*>& empty) {
  const std::lock_guard lock(mutex_);
  put(full);
  if (empty_.empty() && made_ + kAtOnce * sizes_.block_bytes > sizes_.budget) spill();
  for (std::size_t i = 0; i < kAtOnce; ++i) empty.push_back(fresh());
}

Block* Bins::fresh() {
  if (!empty_.empty()) {
    Block* const block = empty_.back();
    empty_.pop_back();
    return block;
  }
  HOLDFAST_ASSERT(sizes_.block_bytes <= kSlab && at_ <= end_);
  if (static_cast<std::size_t>(end_ - at_) < sizes_.block_bytes) {
    // All of it will be written soon: its pages are taken at once, which costs less than a fault for each. They are small, for
    // blocks are written at random: huge pages were no faster on the whole, and waited for compaction.
    void* const memory =
        system::mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
      throw NoSpace("the system has no memory for more k-mers, beyond " + std::to_string(made_) +
                    " bytes: give less memory to the count, and the rest goes to a file");
    }
    at_ = static_cast<std::byte*>(memory);
    end_ = at_ + kSlab;
    slabs_.push_back({at_, Unmap{kSlab}});
  }
  auto* const block = new (at_) Block;
  at_ += sizes_.block_bytes;
  made_ += sizes_.block_bytes;
  return block;
}

void Bins::spill() {
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned bin = 0; bin < count(); ++bin) {
    while (first_[bin] != nullptr) {
      Block* const block = first_[bin];
      spill_.append(block->data(), block->used);
      first_[bin] = block->next;
      empty_.push_back(block);
    }
    spill_.end(bin);
  }
  spill_.flush();
  spill_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

BinWriter::BinWriter(Bins& bins) : bins_(&bins), cursors_(bins.count()), open_(bins.count()) {}

void BinWriter::end_block(unsigned bin) {
  if (open_[bin] == nullptr) return;
  open_[bin]->used = static_cast<std::size_t>(cursors_[bin].at - open_[bin]->data());
  full_.emplace_back(bin, open_[bin]);
  open_[bin] = nullptr;
}

void BinWriter::refill(unsigned bin) {
  end_block(bin);
  if (empty_.empty()) bins_->exchange(full_, empty_);
  HOLDFAST_ASSERT(!empty_.empty() && open_[bin] == nullptr);
  open_[bin] = empty_.back();
  empty_.pop_back();
  std::uint8_t* const data = open_[bin]->data();
  cursors_[bin] = {data, data + bins_->space() - kSuperBytes + 1};
}

void BinWriter::finish() {
  for (unsigned bin = 0; bin < bins_->count(); ++bin) end_block(bin);
  bins_->take(full_);
}

}  // namespace holdfast::kmers
