// read_queue.hpp: searches that wait for their lines, in a ring. Any of them may be answered before an older one.
#pragma once

#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/protocol.hpp"

namespace holdfast::dramhit {

template <class Memory, class Tile>
class ReadQueue {
 public:
  struct Read {
    std::uint64_t want = 0;
    Line* line = nullptr;
    std::uint64_t id = 0;
    unsigned reach = 0;
  };

  bool empty() const { return head_ == tail_; }
  unsigned size() const { return head_ - tail_; }

  void add(Line* line, std::uint64_t want, std::uint64_t id, unsigned reach = 0) {
    prefetch<Tile>(line);
    ring_[head_++ % kMostDepth] = {want, line, id, reach};
  }

  /// Looks at the line that was asked for first: its answer if it is done, else the search waits for its next line.
  [[gnu::always_inline]] Turn step(Answer& answer, std::uint64_t& id) {
    const Read& read = ring_[tail_++ % kMostDepth];
    unsigned reach = read.reach;
    const Turn turn = find(Memory{}, read.line, read.want, reach, answer);
    id = read.id;
    if (turn == Turn::done) [[likely]]
      return turn;
    const bool on = turn == Turn::next;
    add(read.line + on, read.want + (on ? kOneLineOn : 0), id, reach);
    return turn;
  }

  /// All searches anew, in another view. `hash_of` is for the old one.
  template <class HashOf, class PlaceOf>
  void restart(const HashOf& hash_of, const PlaceOf& place_of) {
    for (unsigned i = tail_; i != head_; ++i) {
      Read& read = ring_[i % kMostDepth];
      const auto [line, want] = place_of(hash_of(read.line, read.want));
      read = {want, line, read.id, 0};
      prefetch<Tile>(line);
    }
  }

 private:
  Read ring_[kMostDepth];
  unsigned head_ = 0, tail_ = 0;  // both rise; the ring's length is a power of two
};

}  // namespace holdfast::dramhit
