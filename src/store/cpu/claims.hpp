// claims.hpp: claims of keys in host memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace holdfast::store::cpu {

/// Exclusive holds of keys, found by their hash. Two keys with one word exclude each other, which costs time and nothing else: a thread
/// holds one claim at a time, or several whose words it claimed in the order of their numbers.
class Claims {
 public:
  explicit Claims(unsigned bits = 16) : shift_(64 - bits), words_(std::size_t{1} << bits) {}

  void claim(std::uint64_t hash) {
    std::atomic<std::uint8_t>& word = word_of(hash);
    for (unsigned spins = 0; word.exchange(1, std::memory_order_acquire) != 0;
         ++spins) {  // ends: its holder waits for nothing
      while (word.load(std::memory_order_relaxed) != 0) {
        if (++spins > kSpins) std::this_thread::yield();
      }
    }
  }
  void release(std::uint64_t hash) { word_of(hash).store(0, std::memory_order_release); }
  std::uint64_t number_of(std::uint64_t hash) const { return hash >> shift_; }
  std::size_t words() const { return words_.size(); }
  bool claimed(std::uint64_t hash) { return word_of(hash).load(std::memory_order_acquire) != 0; }

 private:
  static constexpr unsigned kSpins = 64;
  std::atomic<std::uint8_t>& word_of(std::uint64_t hash) { return words_[number_of(hash)]; }

  const unsigned shift_;
  std::vector<std::atomic<std::uint8_t>> words_;
};

}  // namespace holdfast::store::cpu
