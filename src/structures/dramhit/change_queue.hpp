// change_queue.hpp: operations that wait for their lines, changes among them; those on one key are done in their order.
//
// The first of a key is asked for; the others wait behind it and cost no line of their own. Where nobody wants an answer, sums
// of one key that wait are added up, and become one change.
#pragma once

#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/protocol.hpp"

namespace holdfast::dramhit {

/// `At` points to a line; the word that is looked for there, or what else a form of table keeps, is `want`. `kJoins`: equal
/// hashes are equal keys.
template <class At, bool kJoins>
class ChangeQueue {
 public:
  using Index = std::uint8_t;
  static constexpr Index kNone = 255;
  static constexpr unsigned kTasks = 192, kBuckets = 256;
  static_assert(kMostDepth < kTasks && kTasks < kNone);

  struct Task {
    std::uint64_t want = 0;
    At line = nullptr;
    std::uint64_t hash = 0;
    std::uint64_t id = 0;
    Change change;
    Index behind = kNone;  ///< the next on the same key
    Index last = kNone;    ///< of the first: the last of those behind it, or itself
    Index beside = kNone;  ///< of the first: another first one of its bucket
    bool silent = false;
  };

  ChangeQueue() {
    for (unsigned i = 0; i < kTasks; ++i) tasks_[i].behind = i + 1 < kTasks ? static_cast<Index>(i + 1) : kNone;
    for (Index& head : heads_) head = kNone;
  }

  bool empty() const { return used_ == 0; }
  unsigned waiting() const { return used_; }
  unsigned lines() const { return head_ - tail_; }
  bool has_room(unsigned depth) const { return free_ != kNone && lines() < depth; }

  /// `place_of(hash, op)` asks for a line, and gives it and the word; called only if no operation on this key waits. There is
  /// room. Where the operation is kept; kNone: it joined another.
  template <class PlaceOf>
  Index add(std::uint64_t hash, std::uint64_t id, const Change& change, bool silent, const PlaceOf& place_of) {
    Index& head = heads_[hash % kBuckets];
    for (Index i = head; i != kNone; i = tasks_[i].beside) {
      if (tasks_[i].hash == hash) return add_behind(i, id, change, silent);
    }
    const Index i = take();
    const auto [line, want] = place_of(hash, change.op);
    tasks_[i] = {want, line, hash, id, change, kNone, i, head, silent};
    head = i;
    push(i);
    return i;
  }

  /// The operation whose line was asked for first.
  Index pop() { return ring_[tail_++ % kMostRing]; }
  void push(Index i) { ring_[head_++ % kMostRing] = i; }
  void unpush() { --head_; }  ///< takes back what was pushed last
  Task& operator[](Index i) { return tasks_[i]; }

  /// Forgets `i`, which is answered. What waits behind it is the next to be done, or kNone.
  Index end(Index i) {
    Task& task = tasks_[i];
    const Index next = task.behind;
    Index* link = &heads_[task.hash % kBuckets];
    while (*link != i) link = &tasks_[*link].beside;  // ends: it is in its bucket's list
    if (next == kNone) {
      *link = task.beside;
    } else {
      Task& successor = tasks_[next];
      successor.last = task.last;
      successor.beside = task.beside;
      *link = next;
    }
    task.behind = free_;
    free_ = i;
    --used_;
    return next;
  }

  template <class PlaceOf>
  void restart(const PlaceOf& place_of) {
    for (unsigned at = tail_; at != head_; ++at) {
      Task& task = tasks_[ring_[at % kMostRing]];
      const auto [line, want] = place_of(task.hash, task.change.op);
      task.line = line;
      task.want = want;
    }
  }

 private:
  static constexpr unsigned kMostRing = 256;

  Index take() {
    const Index i = free_;
    free_ = tasks_[i].behind;
    ++used_;
    return i;
  }

  static bool can_join(const Task& last, const Change& change, bool silent) {
    return kJoins && silent && last.silent && change.op == Op::accumulate && last.change.op == Op::accumulate &&
           !is_float(change.with.element) && change.with.how == last.change.with.how &&
           change.with.element == last.change.with.element;
  }

  Index add_behind(Index first, std::uint64_t id, const Change& change, bool silent) {
    Task& last = tasks_[tasks_[first].last];
    if (can_join(last, change, silent)) {
      last.change.given = index::combine_word(last.change.given, change.given, change.with);
      return kNone;
    }
    const Index i = take();
    tasks_[i] = {0, nullptr, tasks_[first].hash, id, change, kNone, i, kNone, silent};
    last.behind = i;
    tasks_[first].last = i;
    return i;
  }

  Task tasks_[kTasks];
  Index heads_[kBuckets];
  Index ring_[kMostRing];
  Index free_ = 0;
  unsigned used_ = 0, head_ = 0, tail_ = 0;
};

}  // namespace holdfast::dramhit
