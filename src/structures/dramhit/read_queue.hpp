// read_queue.hpp: searches that wait for their lines, in a ring. Any of them may be answered before an older one.
#pragma once

#include <algorithm>

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

  /// What a call did: searches that it took, and lines that it looked at for those that it answered.
  struct Done {
    unsigned taken = 0;
    std::uint64_t answers = 0, looks = 0;
  };

  /// Takes `n` searches, and asks for their lines, `together` at a time; before that it answers older ones, until no more than
  /// `depth` wait with them, but not more than `room`. `place_of(i)` is where the i-th begins, `id_of(i)` its id; `give(id, answer)`
  /// takes an answer; `missed()` hears that somebody was in the way.
  template <class PlaceOf, class IdOf, class Give, class Missed>
  [[gnu::always_inline]] Done take(unsigned n, unsigned depth, unsigned together, std::uint64_t room,
                                   const PlaceOf& place_of, const IdOf& id_of, const Give& give, const Missed& missed) {
    unsigned head = head_, tail = tail_;  // in registers: what is stored in the ring might be anything
    std::uint64_t left = room;
    unsigned taken = 0;
    while (taken < n) {
      const unsigned part = std::min(together, n - taken);
      while (head - tail > depth - part && left != 0) left -= look(head, tail, give, missed);
      if (head - tail > depth - part) break;
      Line* lines[kMostDepth];
      for (unsigned i = 0; i < part; ++i) {
        const auto at = place_of(taken + i);
        lines[i] = at.line;
        ring_[(head + i) % kMostDepth] = {at.want, at.line, id_of(taken + i), 0};
      }
      for (unsigned i = 0; i < part; ++i) prefetch<Tile>(lines[i]);
      head += part;
      taken += part;
    }
    return stop_at(head, tail, taken, room - left);
  }

  /// Answers `n` searches, no more than wait.
  template <class Give, class Missed>
  [[gnu::always_inline]] Done drain(std::uint64_t n, const Give& give, const Missed& missed) {
    unsigned head = head_, tail = tail_;
    for (std::uint64_t left = n; left != 0;) left -= look(head, tail, give, missed);
    return stop_at(head, tail, 0, n);
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
  /// Looks at the line that was asked for first. False: its search goes on, and waits again.
  template <class Give, class Missed>
  [[gnu::always_inline]] bool look(unsigned& head, unsigned& tail, const Give& give, const Missed& missed) {
    Read& read = ring_[tail++ % kMostDepth];
    Answer answer;
    const Turn turn = find(Memory{}, read.line, read.want, read.reach, answer);
    if (turn == Turn::done) [[likely]] {
      give(read.id, answer);
      return true;
    }
    if (turn == Turn::again) missed();
    const bool on = turn == Turn::next;
    prefetch<Tile>(read.line + on);
    ring_[head++ % kMostDepth] = {read.want + (on ? kOneLineOn : 0), read.line + on, read.id, read.reach};
    return false;
  }
  Done stop_at(unsigned head, unsigned tail, unsigned taken, std::uint64_t answers) {
    const Done done{taken, answers, tail - tail_};
    head_ = head;
    tail_ = tail;
    return done;
  }

  Read ring_[kMostDepth];
  unsigned head_ = 0, tail_ = 0;  // both rise; the ring's length is a power of two
};

}  // namespace holdfast::dramhit
