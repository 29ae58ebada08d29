// move_log.hpp: which items moved, for exports under way (exports.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/pool.hpp"
#include "structures/gphash/protocol/pair.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash {

/// Moves of items, as the thread that carries them out notes them while it holds their keys.
class MoveLog {
 public:
  struct Move {
    std::string key;  ///< its bytes
    const gphash::Slot *from, *to;
  };
  MoveLog(std::uint32_t key_bytes, const std::byte* heap) : key_bytes_(key_bytes), heap_(heap) {}
  /// `to` has the item already. Where there is no memory the log is incomplete.
  void add(const gphash::Slot* from, const gphash::Slot* to) noexcept try {
    append(from, to);
  } catch (const std::bad_alloc&) {
    complete_ = false;
  }
  const std::vector<Move>& moves() const { return moves_; }
  bool complete() const { return complete_; }
  void clear() {
    moves_.clear();
    complete_ = true;
  }

 private:
  void append(const gphash::Slot* from, const gphash::Slot* to) {
    if (key_bytes_ == kVariableBytes) {
      const std::byte* const pair = heap_ + heap::CellWord{load(&to->word)}.begin();
      std::uint32_t bytes;
      std::memcpy(&bytes, pair, sizeof bytes);
      moves_.push_back(
          {std::string(reinterpret_cast<const char*>(pair) + sizeof(gphash::PairHeader), bytes), from, to});
      return;
    }
    const std::uint64_t* const key = key_bytes_ == 8 ? &to->key : gphash::wide_key(to);
    std::string bytes(key_bytes_, '\0');
    for (std::size_t at = 0; at < key_bytes_; at += 8) {
      const std::uint64_t word = load(key + at / 8);
      std::memcpy(bytes.data() + at, &word, 8);
    }
    moves_.push_back({std::move(bytes), from, to});
  }
  /// As all words of slots are read: others wrote this one before, and searches may look at it now.
  static std::uint64_t load(const std::uint64_t* word) {
    return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
  }

  std::uint32_t key_bytes_;
  const std::byte* heap_;  ///< in which variable-length pairs lie
  std::vector<Move> moves_;
  bool complete_ = true;
};

}  // namespace holdfast::gphash
