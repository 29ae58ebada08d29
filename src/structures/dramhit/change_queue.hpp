// change_queue.hpp: operations that wait for their lines, changes among them; those on one key are done in their order.
//
// The first of a key is asked for; the others wait behind it and cost no line of their own. Where nobody wants an answer, sums
// of one key that wait are added up, and become one change. A tag for the low bits of each waiting hash finds it again; keys
// that share a tag do not wait together, which happens to one in a hundred.
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
  bool has_room(unsigned depth) const { return lines() < depth && free_ != kNone; }

  /// The operation that waits under this hash's tag, or null.
  Task* tagged(std::uint64_t hash) {
    const Index tag = tags_[hash % kTags];
    return tag == 0 ? nullptr : &ring_[tag - 1];
  }

  /// Puts an operation at the end; no other waits under its tag.
  void push(const Task& task) {
    const unsigned at = head_++ % kMostDepth;
    ring_[at] = task;
    tags_[task.hash % kTags] = static_cast<Index>(at + 1);
  }
  /// The operation whose line was asked for first. Its tag stays until `end`.
  Task pop() { return ring_[tail_++ % kMostDepth]; }
  void end(const Task& task) { tags_[task.hash % kTags] = 0; }

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
  static constexpr unsigned kTags = 4096;
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
  Index tags_[kTags] = {};  // 1 + where in the ring; 0: none
  Behind behind_[kBehind];
};

}  // namespace holdfast::dramhit
