// bin_table.hpp: the counts of one bin's k-mers, of one thread: open addressing in an array that the caches hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast::kmers {

class BinTable {
 public:
  /// A count of 0: the slot is empty, and its k-mer 0. So k-mer 0 needs no special slot.
  struct Slot {
    std::uint64_t kmer, count;
  };

  /// Clears the table and reserves space for `expected` k-mers. Throws std::bad_alloc.
  void clear(std::size_t expected);

  /// Makes sure that `more` k-mers fit.
  void reserve(std::size_t more) {
    if (size_ + more > most_) grow(more);
  }
  std::size_t home(std::uint64_t kmer) const { return kmer * kSpread >> shift_; }
  void prefetch(std::size_t home) const { __builtin_prefetch(&slots_[home], 1); }

  /// Adds one occurrence of the k-mer. There is space for it.
  void add(std::uint64_t kmer, std::size_t home) {
    // ends: half of the slots are empty
    for (std::size_t at = home;; at = (at + 1) & last_) {
      Slot& slot = slots_[at];
      if (slot.kmer == kmer) [[likely]] {
        size_ += slot.count == 0;  // k-mer 0 in a slot that was empty
        ++slot.count;
        return;
      }
      if (slot.count == 0) {
        slot = {kmer, 1};
        ++size_;
        return;
      }
    }
  }

  std::size_t size() const { return size_; }
  const Slot* begin() const { return slots_; }
  const Slot* end() const { return slots_ + last_ + 1; }

 private:
  static constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  static constexpr std::size_t kLeastSlots = 1024;

  void make(std::size_t slots);
  void grow(std::size_t more);

  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_, spare_;
  std::size_t memory_slots_ = 0, spare_slots_ = 0;
  Slot* slots_ = nullptr;
  std::size_t last_ = 0, size_ = 0, most_ = 0;
  unsigned shift_ = 63;
};

}  // namespace holdfast::kmers
