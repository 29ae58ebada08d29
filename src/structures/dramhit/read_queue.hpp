// read_queue.hpp: searches that wait for their lines, in a ring. Any of them may be answered before an older one.
#pragma once

#include "core/both.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/protocol/change.hpp"

namespace holdfast::dramhit {

template <LineMemory Memory, LineTile Tile>
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

  /// Puts `n` searches at the end, for which there is space; `place_of(i)` is where the i-th begins, `id_of(i)` its id.
  template <class PlaceOf, class IdOf>
  [[gnu::always_inline]] void add(unsigned n, const PlaceOf& place_of, const IdOf& id_of) {
    HOLDFAST_ASSERT(size() + n <= kMostDepth);
    const unsigned head = head_;  // in a register: what is stored in the ring might be anything
    for (unsigned i = 0; i < n; ++i) {
      const auto at = place_of(i);
      ring_[(head + i) % kMostDepth] = {at.want, at.line, id_of(i), 0};
    }
    head_ = head + n;
  }

  /// Looks at lines in the order in which they were asked for, until `n` searches are answered, no more than wait. `give(id, answer)`
  /// takes an answer; `missed()` reports interference. `kAgain`: asks for each line once more, `again` searches before. How many lines
  /// it looked at.
  template <bool kAgain, class Give, class Missed>
  [[gnu::always_inline]] std::uint64_t drain(std::uint64_t n, unsigned again, const Give& give, const Missed& missed) {
    HOLDFAST_ASSERT(n <= size());
    unsigned head = head_, tail = tail_;
    while (n != 0) {
      if (kAgain && head - tail > again) prefetch<Tile>(ring_[(tail + again) % kMostDepth].line);
      Read& read = ring_[tail++ % kMostDepth];
      Answer answer;
      const LineOutcome outcome = find(Memory{}, read.line, read.want, read.reach, answer);
      if (outcome == LineOutcome::done) [[likely]] {
        give(read.id, answer);
        --n;
        continue;
      }
      if (outcome == LineOutcome::again) missed();
      const bool on = outcome == LineOutcome::next;
      prefetch<Tile>(read.line + on);
      ring_[head++ % kMostDepth] = {read.want + (on ? kOneLineOn : 0), read.line + on, read.id, read.reach};
    }
    const std::uint64_t looks = tail - tail_;
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
