// lane_impl.hpp: a lane over one form of items. Include only in files for one instruction set; everything depends on `Form`, so
// that they share none of it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <type_traits>

#include "structures/dramhit/change_queue.hpp"
#include "structures/dramhit/giver.hpp"
#include "structures/dramhit/row_group.hpp"

namespace holdfast::dramhit {

template <class Form>
class LaneFor final : public Lane {
 public:
  LaneFor(Core& core, unsigned depth)
      : core_(core),
        depth_(std::clamp(depth, 1u, kMostDepth - 1)),
        together_(std::min((depth_ + 1) / 2, lines_together())),
        form_(core.format()) {
    core_.join(member_);
  }
  ~LaneFor() override { core_.leave_for_good(member_); }
  LaneFor(const LaneFor&) = delete;
  LaneFor& operator=(const LaneFor&) = delete;

  void submit(Rows& rows, Results& results) override {
    const bool apart = form_.reads_apart() && rows.reads_only && changes_.empty();
    while (rows.next < rows.end) {
      enter();
      const std::size_t end = std::min(rows.end, rows.next + kRowsACall);
      const bool taken = apart ? submit_reads(rows, end, results) : submit_changes(rows, end, results);
      leave();
      if (!taken) return;
    }
  }

  bool flush(Results& results) override {
    enter();
    read_until(0, results);
    with_giver(results, [&](auto& giver) { static_cast<void>(change_until(0, results, giver)); });
    leave();
    return waiting() == 0;
  }

  std::size_t waiting() const override { return form_.reads() + changes_.waiting(); }
  std::int64_t items() const override { return member_.items.load(std::memory_order_relaxed) + fresh_; }
  void forget_items() override { core_.count(member_, -items()); }

 private:
  using Changes = typename Form::Changes;
  using Task = typename Changes::Task;
  static constexpr std::size_t kRowsACall = 4096;  ///< after which an old view is let go
  static constexpr unsigned kRowsAGroup = 16;
  static constexpr unsigned kMisses = 1024;
  static constexpr std::int64_t kCounted = 256;

  void enter() {
    const View* const view = core_.enter(member_);
    if (view->number == number_) return;
    number_ = view->number;
    view_ = view;
    const Geometry old = form_.geometry();
    const auto* const old_lines = form_.lines();
    form_.set_view(*view);
    if (!form_.no_reads()) form_.restart_reads(old, old_lines);
    changes_.for_each([this](Task& task) { begin(task); });
  }
  void leave() {
    count_fresh();
    member_.operations.store(operations_, std::memory_order_relaxed);
    member_.lines.store(lines_, std::memory_order_relaxed);
    core_.leave(member_);
  }

  static Op op_of(const Rows& rows, std::size_t row) {
    return rows.ops != nullptr ? static_cast<Op>(rows.ops[row]) : rows.op;
  }
  static std::uint64_t id_of(const Rows& rows, std::size_t row) { return rows.ids != nullptr ? rows.ids[row] : row; }
  /// What waits for an answer needs room for it.
  bool may_change(const Results& results) const { return results.has_room() || owed_ == 0; }

  /// False: the rows up to `end` were not all taken.
  bool submit_reads(Rows& rows, std::size_t end, Results& results) {
    bool all = true;
    with_answers_of_reads(
        results, [&](auto& giver, const auto& give, const auto& missed) __attribute__((always_inline)) {
          const std::uint64_t* const ids = rows.ids;
          RowGroup group;
          typename Form::ReadsDone sum;
          while (all && rows.next < end) {
            take_group(group, rows, end);
            const auto done = form_.take_reads(
                group.hash, group.size, depth_, together_, giver.room(),
                [&](unsigned i) { return ids != nullptr ? ids[group.row[i]] : group.row[i]; }, give, missed);
            sum.answers += done.answers;
            sum.looks += done.looks;
            all = done.taken == group.size;
            rows.next = all ? group.after : group.row[done.taken];
          }
          return sum;
        });
    return all;
  }
  /// Answers searches until no more than `left` wait; false: there is no room for more answers.
  bool read_until(unsigned left, Results& results) {
    if (form_.reads() <= left) return true;
    const std::uint64_t all = form_.reads() - left;
    std::uint64_t n = 0;
    with_answers_of_reads(
        results, [&](auto& giver, const auto& give, const auto& missed) __attribute__((always_inline)) {
          n = std::min(all, giver.room());
          return form_.drain_reads(n, give, missed);
        });
    return n == all;
  }
  /// `run(giver, give, missed)`, which answers searches, and counts of what it did.
  template <class Run>
  [[gnu::always_inline]] void with_answers_of_reads(Results& results, const Run& run) {
    std::uint64_t found = 0;
    typename Form::ReadsDone done;
    with_giver(
        results, [&](auto& giver) __attribute__((always_inline)) {
          const auto give = [&](std::uint64_t id, const Answer& answer) __attribute__((always_inline)) {
            found += answer.status == Status::found;
            giver.give(id, answer);
          };
          done = run(giver, give, [this] { missed(); });
        });
    results.count[static_cast<unsigned>(Status::found)] += found;
    results.count[static_cast<unsigned>(Status::not_found)] += done.answers - found;
    operations_ += done.answers;
    lines_ += done.looks;
  }
  /// Who is in the way may not be running.
  void missed() {
    if (++misses_ % kMisses == 0) sched_yield();
  }

  void take_group(RowGroup& group, const Rows& rows, std::size_t end) {
    group.take(form_, rows, end, std::max(kRowsAGroup, together_));
  }

  bool submit_changes(Rows& rows, std::size_t end, Results& results) {
    if (!read_until(0, results)) return false;  // they came first
    with_ = rows.with;
    const bool plain = rows.ops == nullptr && changes(rows.op) && !rows.silent && form_.takes_words(rows);
    return plain && results.is_plain() && form_.gives_words() ? submit_changes_as<true>(rows, end, results)
                                                              : submit_changes_as<false>(rows, end, results);
  }
  /// `kPlain`: all are changes of one kind, whose values are words, and their answers are wanted in plain arrays.
  template <bool kPlain>
  bool submit_changes_as(Rows& rows, std::size_t end, Results& results) {
    const unsigned most = sums(rows) ? std::max(depth_, kDepthOfSums) : depth_;
    Giver<Form, kPlain> giver(results, form_);
    RowGroup group;
    while (rows.next < end) {
      take_group(group, rows, end);
      for (unsigned from = 0; from < group.size; from += together_) {
        const RowPart part = group.part(from, together_);
        if (!change_until(most - part.size, results, giver)) {
          rows.next = group.row[from];
          return false;
        }
        if constexpr (kPlain) {
          owed_ += part.size;
          add_changes_as<true>(rows, part);
        } else {
          add_changes(rows, part);
        }
      }
      rows.next = group.after;
    }
    return true;
  }

  /// Whether rows on one key may become one change while they wait.
  bool sums(const Rows& rows) const {
    return Changes::kSums && rows.silent && rows.ops == nullptr && rows.op == Op::accumulate &&
           !is_float(with_.element);
  }

  void add_changes(const Rows& rows, const RowPart& part) {
    if (!rows.silent) owed_ += part.size;
    if (rows.ops == nullptr && changes(rows.op) && form_.takes_words(rows)) {
      add_changes_as<true>(rows, part);
    } else {
      add_changes_as<false>(rows, part);
    }
  }
  /// `kPlain`: all are changes of one kind, which ask for lines alike, and values are words. What is needed is in registers: what is
  /// stored in a queue meanwhile might be anything.
  template <bool kPlain>
  void add_changes_as(const Rows& given, const RowPart& part) {
    const Rows rows = given;
    const auto place = form_.placer();
    const typename Changes::State state{0, rows.op, rows.silent};
    decltype(Task::line) lines[kMostDepth];
    const auto write = [&](unsigned i, Task& task) {
      const std::size_t row = part.row[i];
      const std::uint64_t hash = part.hash[i];
      const auto at = place(hash);
      lines[i] = at.line;
      task.want = at.want;
      task.line = at.line;
      task.hash = hash;
      task.given = kPlain ? form_.take_word(rows, row) : form_.take(rows, row);
      task.id = id_of(rows, row);
      task.state = state;
      if (!kPlain) task.state.op = op_of(rows, row);
    };
    if constexpr (Changes::kSums) {
      if (sums(rows)) {
        for (unsigned i = 0; i < part.size; ++i) {
          const std::uint64_t given = kPlain ? form_.take_word(rows, part.row[i]) : form_.take(rows, part.row[i]);
          const bool waits = changes_.add_sum(part.hash[i], given, with_, [&](Task& task) { write(i, task); });
          operations_ += !waits;
          if (waits) form_.ask_line(lines[i], Op::accumulate);
        }
        return;
      }
    }
    changes_.add(part.size, write);
    if (kPlain) {
      form_.template ask_lines<true>(lines, part.size);
    } else {
      for (unsigned i = 0; i < part.size; ++i) form_.ask_line(lines[i], op_of(rows, part.row[i]));
    }
  }

  /// Runs changes until no more than `left` lines are waited for, and there is room for others to wait behind them; false: there
  /// is no room for more answers.
  template <bool kPlain>
  [[gnu::always_inline]] bool change_until(unsigned left, Results& results, Giver<Form, kPlain>& giver) {
    while (changes_.lines() > left || !changes_.has_room_behind()) {
      if (owed_ != 0 && giver.room() == 0) return false;
      change_some(changes_.lines() > left ? changes_.lines() - left : 1, results, giver);
    }
    return true;
  }

  /// Looks at the lines of the next `n` changes, or of fewer. One after the other: to look at several before the first of them is
  /// made costs more, in memory and in cache, on AMD and Intel, than the wait for its locked instruction.
  template <bool kPlain>
  [[gnu::always_inline]] void change_some(unsigned n, Results& results, Giver<Form, kPlain>& giver) {
    const index::Combining with = with_;  // all in registers
    unsigned done = 0, on = 0;
    for (n = with_room(n, giver); n != 0; --n) {
      Task& task = changes_.pop();
      if (changes_.waits_behind(task)) [[unlikely]]
        continue;
      Answer answer;
      const Turn turn = form_.run(task, with, answer);
      if (turn == Turn::done && task.state.behind == Changes::kNone && !task.state.counted) [[likely]] {
        ++done;
        changes_.end(task);
        answered(task, answer, results, giver);
        counted(answer.status);
      } else if (turn == Turn::next && !Form::is_gone(task)) {
        ++on;
        form_.ask_next(task);
        changes_.push_again(task);
      } else {
        giver.meanwhile([&] { go_on(task, turn, answer, results); });
        n = with_room(n - 1, giver) + 1;
      }
    }
    operations_ += done;
    lines_ += done + on;
  }
  /// Of `n` operations those whose answers there is room for.
  template <bool kPlain>
  unsigned with_room(unsigned n, const Giver<Form, kPlain>& giver) const {
    return owed_ == 0 ? n : static_cast<unsigned>(std::min<std::uint64_t>(n, giver.room()));
  }

  template <class Giver>
  [[gnu::always_inline]] void answered(const Task& task, const Answer& answer, Results& results, Giver& giver) {
    form_.drop(task);
    ++results.count[static_cast<unsigned>(answer.status)];
    if (task.state.silent) return;
    --owed_;
    giver.give(task.id, answer);
  }

  /// What follows the look at a line that did not end an operation, or for whose end others wait: they follow, while its lines are
  /// at hand.
  [[gnu::noinline]] void go_on(Task& task, Turn turn, Answer answer, Results& results) {
    for (unsigned at_hand = 0;;) {
      ++lines_;
      if (turn != Turn::done && Form::is_gone(task) && !task.state.counted) {
        task.state.counted = 1;
        --fresh_;
      }
      if (turn == Turn::next && Form::distance_of(task) < at_hand) {
        form_.ask_next(task);
      } else {
        if (turn != Turn::done && !turned(task, turn, answer)) return;
        ++operations_;
        {
          Giver<Form, false> giver(results, form_);
          answered(task, answer, results, giver);
        }
        at_hand = Form::distance_of(task);
        const bool told = task.state.counted, ends = task.state.behind == Changes::kNone;
        if (!ends) {
          changes_.advance(task);
        } else {
          changes_.end(task);
        }
        if (!told) counted(answer.status);
        if (ends) return;
        const auto [line, want] = form_.place(task.hash);
        task.line = line;
        task.want = want;
        task.state.reach = 0;
        if (!may_change(results)) return changes_.push_again(task);
      }
      turn = form_.run(task, with_, answer);
    }
  }

  /// Keeps count of items, and tells it before it is off by much; now and then looks whether the table is full.
  void counted(Status status) {
    if (status == Status::erased && --fresh_ <= -kCounted) count_fresh();
    if (status != Status::inserted || ++fresh_ < kCounted) return;
    count_fresh();
    if (core_.is_full(*view_)) static_cast<void>(grow());
  }

  void count_fresh() {
    core_.count(member_, fresh_);
    fresh_ = 0;
  }

  /// What becomes of an operation that has no answer yet; true: it has one now.
  bool turned(Task& task, Turn turn, Answer& answer) {
    switch (turn) {
      case Turn::done: return true;
      case Turn::next: form_.ask_next(task); break;
      case Turn::again: missed(); break;
      case Turn::frozen:
      case Turn::far:
        if (!grow()) {
          answer = {Status::no_space, 0};
          return true;
        }
        begin(task);
        break;
    }
    changes_.push_again(task);
    return false;
  }

  /// Asks for the line where a change's search begins, in the view that is now.
  void begin(Task& task) {
    const auto at = form_.place(task.hash);
    form_.ask_line(at.line, task.state.op);
    task.line = at.line;
    task.want = at.want;
  }

  bool grow() {
    count_fresh();  // the call ends here for the core, and the process may fork
    if (!core_.grow(member_, view_)) return false;
    enter();
    return true;
  }

  /// `run(giver)` with the giver for these results.
  template <class Run>
  [[gnu::always_inline]] void with_giver(Results& results, const Run& run) {
    if (results.is_plain() && form_.gives_words()) {
      Giver<Form, true> giver(results, form_);
      run(giver);
    } else {
      Giver<Form, false> giver(results, form_);
      run(giver);
    }
  }

  Core& core_;
  const unsigned depth_, together_;
  Member member_;
  const View* view_ = nullptr;
  std::uint64_t number_ = 0;  ///< the view's; 0: none yet
  std::uint64_t operations_ = 0, lines_ = 0;
  std::size_t owed_ = 0;    ///< changes that wait, and whose answers are wanted
  std::int64_t fresh_ = 0;  ///< added less erased, not yet told
  unsigned misses_ = 0;
  index::Combining with_;
  Form form_;
  Changes changes_;
};

}  // namespace holdfast::dramhit
