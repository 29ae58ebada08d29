// change_queue.hpp: operations that wait for their lines, changes among them; those on one key are done in their order.
//
// They are looked at in the order in which they came. So two on one key are out of order only where the first is not done at
// its first look: it continues, at another line or once more. Such a one is counted in a set of its hash until it is done, and others
// on its key, when they are next, wait behind it and cost no other line. If no result is wanted, sums of one key that
// wait are added up, and become one change: where the key's latest operation stands in the ring is remembered as well, but not
// for sure, since another key may come between.
#pragma once

#include "core/both.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/protocol/change.hpp"

namespace holdfast::dramhit {

/// `At` points to a line; the word that is looked for there, or what else a form of table keeps, is `want`. `kAdds`: equal
/// hashes are equal keys, and `given` is the value. Everything depends on `Form`.
template <class Form, class At, bool kAdds>
class ChangeQueue {
 public:
  using Index = std::uint8_t;
  static constexpr bool kSums = kAdds;
  static constexpr unsigned kBehind = 192;
  static constexpr Index kNone = 255;
  static_assert(kBehind < kNone && kMostDepth < kNone);

  /// What is not about its key; one word, and all of it is the same for most operations of a batch.
  struct State {
    unsigned reach = 0;  ///< how far the key may lie
    Op op = Op::find;
    bool silent = false;
    std::uint8_t goes_on : 1 = 0;  ///< it was not done at its first look, and is remembered
    std::uint8_t counted : 1 = 0;  ///< it has erased its key, and that was counted
    Index behind = kNone;          ///< the next on the same key, of one that continues
  };
  static_assert(sizeof(State) == 8);
  struct alignas(64) Task {
    std::uint64_t want;
    At line;
    std::uint64_t hash;
    std::uint64_t given;
    std::uint64_t id;
    State state;
    Index last;  ///< of those that wait behind it
  };

  ChangeQueue() {
    for (unsigned i = 0; i < kBehind; ++i) behind_[i].next = i + 1 < kBehind ? static_cast<Index>(i + 1) : kNone;
  }

  bool empty() const { return head_ == tail_; }
  unsigned lines() const { return head_ - tail_; }
  unsigned waiting() const { return lines() + waiting_behind_; }
  /// All in the ring could wait behind others, and there is space for them.
  bool has_space_behind() const { return waiting_behind_ <= kBehind - kMostDepth; }

  /// Puts `n` operations at the end, for which there is space; `write(i, task)` writes the i-th: in its place, since what is copied at
  /// once, but was written in parts, has to wait for them.
  template <class Write>
  [[gnu::always_inline]] void add(unsigned n, const Write& write) {
    HOLDFAST_ASSERT(lines() + n <= kMostDepth);
    const unsigned head = head_;  // in a register: what is stored in the ring might be anything
    for (unsigned i = 0; i < n; ++i) write(i, ring_[(head + i) % kMostDepth]);
    head_ = head + n;
    sums_ = head_;
  }
  /// The same for one sum without a result. False: it joined another, and nothing more waits.
  template <class Write>
  [[gnu::always_inline]] bool add_sum(std::uint64_t hash, std::uint64_t given, const Combining& with,
                                      const Write& write) {
    unsigned& latest = latest_[hash % kSets];
    Task& other = ring_[latest % kMostDepth];
    if (latest - sums_ < head_ - sums_ && latest - tail_ < head_ - tail_ && other.hash == hash &&
        !other.state.goes_on) {
      other.given = combine_word(other.given, given, with);
      return false;
    }
    latest = head_;
    write(ring_[head_++ % kMostDepth]);
    return true;
  }

  /// The operation whose line was asked for first. It stays where it is until another is put at the end.
  Task& pop() {
    HOLDFAST_ASSERT(!empty());
    return ring_[tail_++ % kMostDepth];
  }
  /// Whether an operation, popped, has to wait behind another on its key; then it does.
  [[gnu::always_inline]] bool waits_behind(const Task& task) {
    return sets_[task.hash % kSets].size != task.state.goes_on && !task.state.goes_on && add_behind(task);
  }
  /// Puts an operation that was popped, and is not done, at the end; it is remembered.
  [[gnu::always_inline]] void push_again(const Task& task) {
    HOLDFAST_ASSERT(lines() < kMostDepth);
    const auto at = static_cast<Index>(head_++ % kMostDepth);
    Set& set = sets_[task.hash % kSets];
    set.size = static_cast<std::uint8_t>(set.size + 1 - task.state.goes_on);
    set.latest = at;
    ring_[at] = task;
    ring_[at].state.goes_on = 1;
  }
  /// One is done, behind which nothing waits. No branch: whether it continued is as hard to predict as what its line held.
  [[gnu::always_inline]] void end(const Task& task) {
    Set& set = sets_[task.hash % kSets];
    set.size = static_cast<std::uint8_t>(set.size - task.state.goes_on);
  }
  /// What waits behind `task`, which is answered, takes its place; there is one.
  void advance(Task& task) {
    HOLDFAST_ASSERT(task.state.behind != kNone && waiting_behind_ != 0);
    const Index i = task.state.behind;
    Behind& next = behind_[i];
    task.given = next.given;
    task.id = next.id;
    task.state.op = next.op;
    task.state.silent = next.silent;
    task.state.behind = next.next;
    task.state.counted = 0;
    next.next = free_;
    free_ = i;
    --waiting_behind_;
  }

  template <class Do>
  void for_each(const Do& run) {
    for (unsigned at = tail_; at != head_; ++at) run(ring_[at % kMostDepth]);
  }

 private:
  static constexpr unsigned kSets = 1024;
  /// Of those that continue, by the low bits of their hashes: how many, and where the latest stands.
  struct Set {
    std::uint8_t size = 0;
    Index latest = 0;
  };
  bool goes_on(unsigned at, std::uint64_t hash) const {
    const Task& task = ring_[at % kMostDepth];
    return task.state.goes_on && task.hash == hash;
  }
  [[gnu::noinline]] bool add_behind(const Task& task) {
    unsigned at = sets_[task.hash % kSets].latest;  // it waits: it came after all others of its set
    if (!goes_on(at, task.hash)) {
      for (at = tail_; at != head_ && !goes_on(at, task.hash);) ++at;
      if (at == head_) return false;
    }
    HOLDFAST_ASSERT(free_ != kNone);
    const Index i = free_;
    free_ = behind_[i].next;
    behind_[i] = {task.given, task.id, task.state.op, task.state.silent, kNone};
    Task& before = ring_[at % kMostDepth];
    (before.state.behind == kNone ? before.state.behind : behind_[before.last].next) = i;
    before.last = i;
    ++waiting_behind_;
    return true;
  }
  struct Behind {
    std::uint64_t given = 0, id = 0;
    Op op = Op::find;
    bool silent = false;
    Index next = kNone;
  };

  Task ring_[kMostDepth] = {};
  unsigned head_ = 0, tail_ = 0;  // both rise; the ring's length is a power of two
  unsigned sums_ = 0;             ///< from there on the ring has only sums without results, and what continues
  unsigned waiting_behind_ = 0;
  Index free_ = 0;
  Set sets_[kSets];
  unsigned latest_[kSets] = {};  ///< by the low bits of the hash: the latest sum
  Behind behind_[kBehind];
};

}  // namespace holdfast::dramhit
