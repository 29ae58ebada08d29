// bin_table.cpp: the array of a bin's counts: made, and doubled.
#include "kmers/bin_table.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/both.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kAlignment = 64;

/// Half full at most: linear probing looks at 1.5 slots for a k-mer that is there.
constexpr std::size_t slots_for(std::size_t kmers) { return std::bit_ceil(2 * kmers); }

}  // namespace

void BinTable::Free::operator()(void* memory) const { std::free(memory); }

void BinTable::make(std::size_t slots) {
  HOLDFAST_ASSERT(std::has_single_bit(slots));
  if (memory_slots_ < slots) {
    memory_.reset();
    memory_slots_ = 0;
    memory_.reset(std::aligned_alloc(kAlignment, slots * sizeof(Slot)));
    if (!memory_) throw std::bad_alloc();
    memory_slots_ = slots;
  }
  slots_ = static_cast<Slot*>(memory_.get());
  std::memset(slots_, 0, slots * sizeof(Slot));
  last_ = slots - 1;
  shift_ = static_cast<unsigned>(64 - std::countr_zero(slots));
  size_ = 0;
  most_ = slots / 2;
}

void BinTable::clear(std::size_t expected) {
  std::size_t slots = slots_for(expected);
  make(slots < kLeastSlots ? kLeastSlots : slots);
}

void BinTable::grow(std::size_t more) {
  const Slot* const from = slots_;
  const Slot* const to = end();
  std::swap(memory_, spare_);
  std::swap(memory_slots_, spare_slots_);
  const std::size_t size = size_;
  make(slots_for(size + more > 2 * most_ ? size + more : 2 * most_));
  HOLDFAST_ASSERT(size + more <= most_);
  for (const Slot* old = from; old != to; ++old) {
    if (old->count == 0) continue;
    std::size_t at = home(old->kmer);
    while (slots_[at].count != 0) at = (at + 1) & last_;
    slots_[at] = *old;
  }
  size_ = size;
}

}  // namespace holdfast::kmers
