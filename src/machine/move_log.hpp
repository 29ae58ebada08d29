// move_log.hpp: which items moved, for exports under way (exports.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "index/slot.hpp"

namespace holdfast::machine {

/// Moves of items, as the thread that carries them out notes them while it holds their keys.
class MoveLog {
 public:
  struct Move {
    std::uint64_t key;
    const index::Slot *from, *to;
  };
  /// `to` has the item already.
  void add(const index::Slot* from, const index::Slot* to) {
    moves_.push_back({__atomic_load_n(&to->key, __ATOMIC_RELAXED), from, to});
  }
  const std::vector<Move>& moves() const { return moves_; }
  void clear() { moves_.clear(); }

 private:
  std::vector<Move> moves_;
};

}  // namespace holdfast::machine
