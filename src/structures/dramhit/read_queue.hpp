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

  /// Its line has been asked for.
  void add(Line* line, std::uint64_t want, std::uint64_t id) { ring_[head_++ % kMostDepth] = {want, line, id, 0}; }

  /// Looks at lines in the order in which they were asked for, while more than `left` searches wait. `give(id, answer)` takes an
  /// answer, and says whether there is room for another; `missed()` hears that somebody was in the way. How many lines it
  /// looked at.
  template <class Give, class Missed>
  [[gnu::always_inline]] std::uint64_t drain(unsigned left, const Give& give, const Missed& missed) {
    unsigned head = head_, tail = tail_;  // in registers: what is stored for the caller might be anything
    std::uint64_t looks = 0;
    for (bool room = true; head - tail > left && room; ++looks) {
      const Read& read = ring_[tail++ % kMostDepth];
      unsigned reach = read.reach;
      Answer answer;
      const Turn turn = find(Memory{}, read.line, read.want, reach, answer);
      if (turn == Turn::done) [[likely]] {
        room = give(read.id, answer);
        continue;
      }
      if (turn == Turn::again) missed();
      const bool on = turn == Turn::next;
      prefetch<Tile>(read.line + on);
      ring_[head++ % kMostDepth] = {read.want + (on ? kOneLineOn : 0), read.line + on, read.id, reach};
    }
    head_ = head;
    tail_ = tail;
    return looks;
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
