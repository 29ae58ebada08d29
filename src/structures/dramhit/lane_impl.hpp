// lane_impl.hpp: a lane, and the engine, over one form of items. Include only in files for one instruction set; everything
// depends on `Form`, so that they share none of it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <type_traits>

#include "structures/dramhit/change_queue.hpp"
#include "structures/dramhit/giver.hpp"

namespace holdfast::dramhit {

template <class Form>
class LaneFor final : public Lane {
 public:
  LaneFor(Core& core, unsigned depth)
      : core_(core), depth_(std::clamp(depth, 1u, kMostDepth - 1)), form_(core.format()) {
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
    static_cast<void>(change_until(0, results));
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
  static constexpr unsigned kMisses = 1024;
  static constexpr std::int64_t kCounted = 256;
  static constexpr unsigned kPlanned = 16;

  void enter() {
    const View* const view = core_.enter(member_);
    if (view->number == number_) return;
    number_ = view->number;
    view_ = view;
    const Geometry old = form_.geometry();
    const auto* const old_lines = form_.lines();
    form_.set_view(*view);
    if (!form_.no_reads()) form_.restart_reads(old, old_lines);
    changes_.restart([this](std::uint64_t hash, Op op) { return form_.ask(hash, op); });
  }
  void leave() {
    count_fresh();
    member_.operations.store(operations_, std::memory_order_relaxed);
    member_.lines.store(lines_, std::memory_order_relaxed);
    core_.leave(member_);
  }

  static bool skips(const Rows& rows, std::size_t row, std::uint64_t hash) {
    return (rows.mask != nullptr && rows.mask[row] == 0) || (rows.parts > 1 && high(hash, rows.parts) != rows.part);
  }
  static Op op_of(const Rows& rows, std::size_t row) {
    return rows.ops != nullptr ? static_cast<Op>(rows.ops[row]) : rows.op;
  }
  static std::uint64_t id_of(const Rows& rows, std::size_t row) { return rows.ids != nullptr ? rows.ids[row] : row; }
  /// What waits for an answer needs room for it, beside `kept` other answers.
  bool may_change(const Results& results, unsigned kept = 0) const {
    return results.ids == nullptr || results.size + kept < results.room || owed_ == 0;
  }

  /// Rows that are taken together. Their lines are asked for one after another, with no branch between that depends on what a line
  /// holds: such a branch, predicted wrong, ends all that the processor has begun, and with it the translations of the
  /// other lines' addresses, which take longest where memory is large.
  struct Group {
    std::size_t row[kMostDepth];
    std::uint64_t hash[kMostDepth];
    typename Form::At at[kMostDepth];  ///< of changes
    unsigned size = 0;
    std::size_t after = 0;  ///< the rows before this one are in it, or skipped
  };
  unsigned most_together() const { return (depth_ + 1) / 2; }

  void take_together(const Rows& rows, std::size_t end, Group& group) const {
    group.size = 0;
    group.after = rows.next;
    if (rows.mask == nullptr && rows.parts == 1) {
      group.size = static_cast<unsigned>(std::min<std::size_t>(most_together(), end - rows.next));
      group.after = rows.next + group.size;
      for (unsigned i = 0; i < group.size; ++i) group.row[i] = rows.next + i;
      form_.hash_rows(rows, rows.next, group.size, group.hash);
      return;
    }
    for (; group.after < end && group.size < most_together(); ++group.after) {
      const std::uint64_t hash = form_.hash(rows, group.after);
      group.row[group.size] = group.after;
      group.hash[group.size] = hash;
      group.size += !skips(rows, group.after, hash);
    }
  }

  /// False: the rows up to `end` were not all taken.
  bool submit_reads(Rows& rows, std::size_t end, Results& results) {
    Group group;
    while (rows.next < end) {
      if (!read_until(depth_ - most_together(), results)) return false;
      take_together(rows, end, group);
      form_.add_reads(group.hash, group.size, [&](unsigned i) { return id_of(rows, group.row[i]); });
      rows.next = group.after;
    }
    return true;
  }

  bool submit_changes(Rows& rows, std::size_t end, Results& results) {
    if (!read_until(0, results)) return false;  // they came first
    with_ = rows.with;
    Group group;
    while (rows.next < end) {
      if (!change_until(depth_ - most_together(), results)) return false;
      take_together(rows, end, group);
      for (unsigned i = 0; i < group.size; ++i) group.at[i] = form_.ask(group.hash[i], op_of(rows, group.row[i]));
      for (unsigned i = 0; i < group.size; ++i) {
        if (add_change(rows, group, i, results)) continue;
        rows.next = group.row[i];
        return false;
      }
      rows.next = group.after;
    }
    return true;
  }

  /// The i-th row of a group whose lines have been asked for; false: there is no room for the answers that this brings. There is
  /// room in the queue; what waits beside the row's hash may have to go first.
  bool add_change(const Rows& rows, Group& group, unsigned i, Results& results) {
    const std::uint64_t hash = group.hash[i];
    Task* same = nullptr;
    if (changes_.has_neighbours(hash)) [[unlikely]] {
      const std::uint64_t number = number_;
      while ((same = changes_.same(hash)) != nullptr ? !changes_.has_room_behind() : !changes_.has_place(hash)) {
        if (!may_change(results)) return false;
        change_some(1, results);
      }
      if (number != number_) {  // the table has grown
        for (unsigned j = i; j < group.size; ++j) group.at[j] = form_.place(group.hash[j]);
      }
    }
    const std::size_t row = group.row[i];
    const Op op = op_of(rows, row);
    const std::uint64_t id = id_of(rows, row), given = form_.take(rows, row);
    owed_ += !rows.silent;
    if (same != nullptr) {
      if (!changes_.add_behind(*same, op, given, id, rows.silent, with_)) ++operations_;
    } else {
      changes_.push({group.at[i].want, group.at[i].line, hash, given, id, op, rows.silent});
    }
    return true;
  }

  /// Answers searches until no more than `left` wait; false: there is no room for more answers.
  bool read_until(unsigned left, Results& results) {
    if (form_.reads() <= left) return true;
    const std::uint64_t all = form_.reads() - left;
    const std::uint64_t n = results.ids != nullptr ? std::min<std::uint64_t>(all, results.room - results.size) : all;
    std::uint64_t found = 0;
    with_giver(results, [&](auto& giver) {
      lines_ += form_.drain_reads(
          n,
          [&](std::uint64_t id, const Answer& answer) {
            found += answer.status == Status::found;
            giver.give(id, answer);
          },
          [this] { missed(); });
    });
    results.count[static_cast<unsigned>(Status::found)] += found;
    results.count[static_cast<unsigned>(Status::not_found)] += n - found;
    operations_ += n;
    return n == all;
  }
  /// Who is in the way may not be running.
  void missed() {
    if (++misses_ % kMisses == 0) sched_yield();
  }

  /// Runs changes until no more than `left` wait; false: there is no room for more answers.
  bool change_until(unsigned left, Results& results) {
    while (changes_.lines() > left) {
      if (!may_change(results)) return false;
      change_some(std::min(kPlanned, changes_.lines() - left), results);
    }
    return true;
  }

  /// At least one of the next `n` changes.
  void change_some(unsigned n, Results& results) {
    if constexpr (Form::kPlans) {
      change_planned(n, results);
    } else {
      change_one(results);
    }
  }

  /// Of the next changes, at most `n`, plans all, then makes all, then answers them: what comes after a locked instruction begins
  /// when it has ended, so a look at a line between two of them would wait for the first, and the second for it.
  void change_planned(unsigned n, Results& results) {
    Plan plans[kPlanned];
    Answer answers[kPlanned];
    if (results.ids != nullptr && owed_ != 0) {
      n = static_cast<unsigned>(std::min<std::size_t>(n, results.room - results.size));
    }
    for (unsigned i = 0; i < n; ++i) form_.plan(changes_.next(i), with_, plans[i], answers[i]);
    for (unsigned i = 0; i < n; ++i) {
      if (plans[i].kind == Plan::Kind::swaps && !form_.commit(changes_.next(i), plans[i])) {
        plans[i].kind = Plan::Kind::open;
      }
    }
    with_giver(results, [&](auto& giver) {
      for (unsigned i = 0; i < n; ++i) {
        const Task& task = changes_.next(0);
        if (plans[i].kind == Plan::Kind::open || task.behind != Changes::kNone) {
          const Answer* const known = plans[i].kind == Plan::Kind::open ? nullptr : &answers[i];
          giver.meanwhile([&] { change_one(results, known, n - i - 1); });
          continue;
        }
        changes_.end(changes_.pop());
        ++lines_;
        ++operations_;
        ++results.count[static_cast<unsigned>(answers[i].status)];
        if (!task.silent) {
          --owed_;
          giver.give(task.id, answers[i]);
        }
        counted(answers[i].status);
      }
    });
  }

  /// One look at a line for a change, or its answer; all that waits on its key follows while the line is at hand, if there is room
  /// for `kept` answers more.
  void change_one(Results& results, const Answer* known = nullptr, unsigned kept = 0) {
    Task& task = changes_.pop();
    for (;; known = nullptr) {
      Answer answer;
      ++lines_;
      const bool was_gone = Form::is_gone(task);
      if (known != nullptr) {
        answer = *known;
      } else if (const Turn turn = form_.run(task, with_, answer); turn != Turn::done) {
        if (Form::is_gone(task) && !was_gone) --fresh_;
        if (!turned(task, turn, answer)) return;
      }
      form_.drop(task);
      ++operations_;
      ++results.count[static_cast<unsigned>(answer.status)];
      if (!task.silent) {
        --owed_;
        Giver<Form, false>(results, form_).give(task.id, answer);
      }
      const bool ends = task.behind == Changes::kNone;
      if (ends) {
        changes_.end(task);
      } else {
        changes_.advance(task);
      }
      if (!was_gone) counted(answer.status);
      if (ends) return;
      const auto [line, want] = form_.place(task.hash);
      task.line = line;
      task.want = want;
      if (!may_change(results, kept)) return changes_.push_again(task);
    }
  }

  /// Keeps count of items; now and then looks whether the table is full.
  void counted(Status status) {
    if (status == Status::erased) --fresh_;
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
        const auto [line, want] = form_.ask(task.hash, task.op);
        task.line = line;
        task.want = want;
        break;
    }
    changes_.push_again(task);
    return false;
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
  const unsigned depth_;
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

/// `Owner` is the form for the only thread that changes a partition, or void.
template <class Form, class Owner>
class EngineFor final : public Engine {
 public:
  const char* tile() const override { return Form::kName; }
  std::unique_ptr<Lane> lane(Core& core, unsigned depth) const override {
    return std::make_unique<LaneFor<Form>>(core, depth);
  }
  std::unique_ptr<Lane> owner_lane([[maybe_unused]] Core& core, [[maybe_unused]] unsigned depth) const override {
    if constexpr (std::is_void_v<Owner>) {
      return nullptr;
    } else {
      return std::make_unique<LaneFor<Owner>>(core, depth);
    }
  }
  bool move(const View& from, const View* to, std::uint64_t begin, std::uint64_t end,
            std::uint64_t& items) const override {
    for (std::uint64_t line = begin; line < end; ++line) {
      if (!Form::move(from, to, line, items)) return false;
    }
    return true;
  }
  void thaw(const View& view, std::uint64_t begin, std::uint64_t end) const override {
    for (std::uint64_t line = begin; line < end; ++line) Form::thaw(view, line);
  }
  std::size_t items_of(const View& view, std::uint64_t line, std::uint64_t from, std::byte* keys, std::byte* values,
                       std::uint64_t* hashes, std::size_t room) const override {
    return Form::items_of(view, line, from, keys, values, hashes, room);
  }
};

}  // namespace holdfast::dramhit
