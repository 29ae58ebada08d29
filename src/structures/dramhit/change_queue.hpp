// change_queue.hpp: operations that wait for their lines, changes among them; those on one key are done in their order.
//
// They are looked at in the order in which they came. So two on one key are out of order only where the first is not done at
// its first look: it continues, at another line or once more. Where such a one stands in the ring is remembered by its hash, and others
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
  static constexpr Index kNone = 0;
  static_assert(kBehind < 255);

  /// What is not about its key; one word, and all of it is the same for most operations of a batch.
  struct State {
    unsigned reach = 0;  ///< how far the key may lie
    Op op = Op::find;
    bool silent = false;
    std::uint8_t goes_on : 1 = 0;  ///< it was not done at its first look, and is remembered
    std::uint8_t counted : 1 = 0;  ///< it has erased its key, and that was counted
    Index behind = kNone;          ///< the next on the same key, of one that continues

    /// Whether its answer is all that follows when it is done.
    bool is_alone() const { return counted == 0 && behind == kNone; }
  };
  static_assert(sizeof(State) == 8);
  struct alignas(64) Task {
    std::uint64_t want;
    At line;
    std::uint64_t hash;
    std::uint64_t given;
    std::uint64_t id;
    State state;
  };

  ChangeQueue() {
    for (unsigned i = 1; i < kBehind; ++i) behind_[i].next = static_cast<Index>(i + 1);
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
  Task& front() {
    HOLDFAST_ASSERT(!empty());
    return ring_[tail_ % kMostDepth];
  }
  /// What became of the operations that `drain` popped.
  struct Drained {
    unsigned looks = 0;    ///< at lines
    unsigned on = 0;       ///< of them those after which the operation continues at the next line
    Task* left = nullptr;  ///< the last one, if it neither ended nor continues; and what came of it
    LineOutcome outcome = LineOutcome::done;
    Answer answer = {};
  };
  /// Pops operations until no more than `least` wait for lines, and only while they are as `like`, or with kMixed only all with results or
  /// all without. `look(task, answer)` looks at a line, `give(task, answer)` takes the answer of one that ended, and `ask_next(line,
  /// want, op)` asks for the next line. Asks once more for each line, to change it, `again` operations before. What it needs is in
  /// registers, and it stores little: each store between two locked instructions costs about a cycle.
  template <bool kMixed, class Look, class Give, class AskNext>
  [[gnu::always_inline]] Drained drain(unsigned least, unsigned again, const State& like, const Look& look,
                                       const Give& give, const AskNext& ask_next) {
    const unsigned first_head = head_, first = tail_;
    unsigned head = head_, tail = tail_;
    Task* const ring = ring_;
    Drained drained;
    while (head - tail > least) {
      if (head - tail > again) prefetch_to_change<Form>(ring[(tail + again) % kMostDepth].line);
      Task& task = ring[tail % kMostDepth];
      if (task.state.silent != like.silent || (!kMixed && task.state.op != like.op)) break;
      ++tail;
      if (sets_[task.hash % kSets] - tail < head - tail && !task.state.goes_on) [[unlikely]] {
        head_ = head;
        tail_ = tail;
        if (add_behind(task)) {
          --drained.looks;
          break;
        }
      }
      Answer answer;
      const LineOutcome outcome = look(task, answer);
      if (outcome == LineOutcome::done && task.state.is_alone()) [[likely]] {
        give(task, answer);
      } else if (outcome == LineOutcome::next && (task.state.reach & (kErases | kErased)) == 0) {
        sets_[task.hash % kSets] = head;
        Task& on = ring[head++ % kMostDepth];
        on.line = task.line;
        on.want = task.want;
        ask_next(on.line, on.want, task.state.op);
        on.hash = task.hash;
        on.given = task.given;
        on.id = task.id;
        on.state = task.state;
        on.state.goes_on = 1;
      } else {
        drained.left = &task;
        drained.outcome = outcome;
        drained.answer = answer;
        break;
      }
    }
    drained.looks += tail - first;
    drained.on = head - first_head;
    head_ = head;
    tail_ = tail;
    return drained;
  }
  /// Puts an operation that was popped, and is not done, at the end; it is remembered.
  void push_again(const Task& task) {
    HOLDFAST_ASSERT(lines() < kMostDepth);
    sets_[task.hash % kSets] = head_;
    ring_[head_ % kMostDepth] = task;
    ring_[head_++ % kMostDepth].state.goes_on = 1;
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
    if (next.next != kNone) behind_[next.next].last = next.last;
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
  bool goes_on(unsigned at, std::uint64_t hash) const {
    const Task& task = ring_[at % kMostDepth];
    return task.state.goes_on && task.hash == hash;
  }
  [[gnu::noinline]] bool add_behind(const Task& task) {
    unsigned at = sets_[task.hash % kSets];  // it waits: it came after all others of its set
    if (!goes_on(at, task.hash)) {
      for (at = tail_; at != head_ && !goes_on(at, task.hash);) ++at;
      if (at == head_) return false;
    }
    HOLDFAST_ASSERT(free_ != kNone);
    const Index i = free_;
    free_ = behind_[i].next;
    behind_[i] = {task.given, task.id, task.state.op, task.state.silent, kNone, i};
    State& before = ring_[at % kMostDepth].state;
    (before.behind != kNone ? behind_[behind_[before.behind].last].next : before.behind) = i;
    behind_[before.behind].last = i;
    ++waiting_behind_;
    return true;
  }
  struct Behind {
    std::uint64_t given = 0, id = 0;
    Op op = Op::find;
    bool silent = false;
    Index next = kNone, last = kNone;  ///< last: of all that wait, if it is the first
  };

  Task ring_[kMostDepth] = {};
  unsigned head_ = 0, tail_ = 0;  // both rise; the ring's length is a power of two
  unsigned sums_ = 0;             ///< from there on the ring has only sums without results, and what continues
  unsigned waiting_behind_ = 0;
  Index free_ = 1;
  unsigned sets_[kSets] = {};  ///< by the low bits of the hash: where in the ring the latest one was put that continues
  unsigned latest_[kSets] = {};  ///< by the low bits of the hash: the latest sum
  Behind behind_[kBehind + 1];
};

}  // namespace holdfast::dramhit
