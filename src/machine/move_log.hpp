// move_log.hpp: which items moved, for exports under way (exports.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "index/slot.hpp"

namespace holdfast::machine {

/// Moves of items, as the thread that carries them out notes them while it holds their keys.
class MoveLog {
 public:
  struct Move {
    std::string key;  ///< its bytes
    const index::Slot *from, *to;
  };
  explicit MoveLog(std::uint32_t key_bytes) : key_bytes_(key_bytes) {}
  /// `to` has the item already.
  void add(const index::Slot* from, const index::Slot* to) {
    const std::uint64_t* const key = key_bytes_ == 8 ? &to->key : index::wide_key(to);
    moves_.push_back({std::string(reinterpret_cast<const char*>(key), key_bytes_), from, to});
  }
  const std::vector<Move>& moves() const { return moves_; }
  void clear() { moves_.clear(); }

 private:
  std::uint32_t key_bytes_;
  std::vector<Move> moves_;
};

}  // namespace holdfast::machine
