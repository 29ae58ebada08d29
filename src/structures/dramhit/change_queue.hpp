// change_queue.hpp: operations that wait for their lines, changes among them; those on one key are done in their order.
//
// The first of a key is asked for; the others wait behind it and cost no line of their own. Where nobody wants an answer, sums
// of one key that wait are added up, and become one change. The low bits of each waiting hash name a set of four places in the
// ring, where it is found again; a fifth hash of a set waits until one of them is done, which next to never happens.
#pragma once

#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/protocol.hpp"

namespace holdfast::dramhit {

/// `At` points to a line; the word that is looked for there, or what else a form of table keeps, is `want`. `kJoins`: equal
/// hashes are equal keys, and `given` is the value. Everything depends on `Form`.
template <class Form, class At, bool kJoins>
class ChangeQueue {
 public:
  using Index = std::uint8_t;
  static constexpr unsigned kBehind = 192;
  static constexpr Index kNone = 255;
  static_assert(kBehind < kNone && kMostDepth < kNone);

  struct Task {
    std::uint64_t want = 0;
    At line = nullptr;
    std::uint64_t hash = 0;
    std::uint64_t given = 0;
    std::uint64_t id = 0;
    Op op = Op::find;
    bool silent = false;
    Index behind = kNone;  ///< the next on the same key
    Index last = kNone;    ///< of those
    unsigned reach = 0;    ///< how far the key may lie
  };

  ChangeQueue() {
    for (unsigned i = 0; i < kBehind; ++i) behind_[i].next = i + 1 < kBehind ? static_cast<Index>(i + 1) : kNone;
  }

  bool empty() const { return head_ == tail_; }
  unsigned lines() const { return head_ - tail_; }
  unsigned waiting() const { return lines() + waiting_behind_; }
  bool has_room_behind() const { return free_ != kNone; }

  /// Whether any operation waits whose hash is in the same set: seldom.
  bool has_neighbours(std::uint64_t hash) const { return sets_[hash % kSets] != 0; }
  /// The first operation on this hash, or null; then there may be no place in its set.
  Task* same(std::uint64_t hash) {
    for (Set set = sets_[hash % kSets]; set != 0; set >>= 8) {
      if ((set & 255) != 0 && ring_[(set & 255) - 1].hash == hash) return &ring_[(set & 255) - 1];
    }
    return nullptr;
  }
  bool has_place(std::uint64_t hash) const {
    const Set set = sets_[hash % kSets];
    return ((set - 0x0101'0101u) & ~set & 0x8080'8080u) != 0;  // a byte of it is zero
  }

  /// Puts an operation at the end; no other waits on its hash, and its set has a place.
  void push(const Task& task) {
    const unsigned at = head_++ % kMostDepth;
    ring_[at] = task;
    Set& set = sets_[task.hash % kSets];
    unsigned shift = 0;
    while ((set >> shift & 255) != 0) shift += 8;
    set |= (at + 1) << shift;
  }
  /// Puts the one that pop() gave, and that did not end, at the end.
  void push_again(const Task& task) {
    leave_set(task);
    push(task);
  }
  /// The operation whose line was asked for first. It stays where it is, and in its set, until `end` or `push_again`.
  Task& pop() { return ring_[tail_++ % kMostDepth]; }
  /// The i-th of those that pop() will give.
  Task& next(unsigned i) { return ring_[(tail_ + i) % kMostDepth]; }
  void end(const Task& task) { leave_set(task); }

  /// Adds an operation behind `first`, which is on the same key. False: it joined another, and nothing more waits.
  bool add_behind(Task& first, Op op, std::uint64_t given, std::uint64_t id, bool silent,
                  const index::Combining& with) {
    const bool alone = first.behind == kNone;
    Op& last_op = alone ? first.op : behind_[first.last].op;
    std::uint64_t& last_given = alone ? first.given : behind_[first.last].given;
    const bool last_silent = alone ? first.silent : behind_[first.last].silent;
    if (kJoins && silent && last_silent && op == Op::accumulate && last_op == op && !is_float(with.element)) {
      last_given = index::combine_word(last_given, given, with);
      return false;
    }
    const Index i = free_;
    free_ = behind_[i].next;
    behind_[i] = {given, id, op, silent, kNone};
    (alone ? first.behind : behind_[first.last].next) = i;
    first.last = i;
    ++waiting_behind_;
    return true;
  }
  /// What waits behind `task`, which is answered, takes its place; there is one.
  void advance(Task& task) {
    const Index i = task.behind;
    Behind& next = behind_[i];
    task.given = next.given;
    task.id = next.id;
    task.op = next.op;
    task.silent = next.silent;
    task.behind = next.next;
    next.next = free_;
    free_ = i;
    --waiting_behind_;
  }

  template <class PlaceOf>
  void restart(const PlaceOf& place_of) {
    for (unsigned at = tail_; at != head_; ++at) {
      Task& task = ring_[at % kMostDepth];
      const auto [line, want] = place_of(task.hash, task.op);
      task.line = line;
      task.want = want;
    }
  }

 private:
  using Set = std::uint32_t;  ///< four places in the ring, each 1 + where; 0: none
  static constexpr unsigned kSets = 1024;
  void leave_set(const Task& task) {
    Set& set = sets_[task.hash % kSets];
    const auto place = static_cast<Set>(&task - ring_) + 1;
    if (set == place) [[likely]] {
      set = 0;
      return;
    }
    unsigned shift = 0;
    while ((set >> shift & 255) != place) shift += 8;
    set &= ~(Set{255} << shift);
  }
  struct Behind {
    std::uint64_t given = 0, id = 0;
    Op op = Op::find;
    bool silent = false;
    Index next = kNone;
  };

  Task ring_[kMostDepth];
  unsigned head_ = 0, tail_ = 0;  // both rise; the ring's length is a power of two
  unsigned waiting_behind_ = 0;
  Index free_ = 0;
  Set sets_[kSets] = {};
  Behind behind_[kBehind];
};

}  // namespace holdfast::dramhit
