// lane_impl.hpp: a lane, and the engine, over one form of items. Include only in files for one instruction set; everything
// depends on `Form`, so that they share none of it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <type_traits>

#include "structures/dramhit/change_queue.hpp"

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
    while (may_change(results) && !changes_.empty()) change_one(results);
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
  /// What waits for an answer needs room for it.
  bool may_change(const Results& results) const { return results.has_room() || owed_ == 0; }

  /// Rows that are taken together. Their lines are asked for one after another, with no branch between that depends on what a line
  /// holds: such a branch, predicted wrong, ends all that the processor has begun, and with it the translations of the
  /// other lines' addresses, which take longest where memory is large.
  struct Group {
    std::size_t row[kMostDepth];
    std::uint64_t hash[kMostDepth];
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
      for (unsigned i = 0; i < group.size; ++i) group.hash[i] = form_.hash(rows, rows.next + i);
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
      for (unsigned i = 0; i < group.size; ++i) form_.add_read(group.hash[i], id_of(rows, group.row[i]));
      rows.next = group.after;
    }
    return true;
  }

  bool submit_changes(Rows& rows, std::size_t end, Results& results) {
    if (!read_until(0, results)) return false;  // they came first
    with_ = rows.with;
    Group group;
    while (rows.next < end) {
      for (; changes_.lines() > depth_ - most_together(); change_one(results)) {
        if (!may_change(results)) return false;
      }
      take_together(rows, end, group);
      for (unsigned i = 0; i < group.size; ++i) form_.ask(group.hash[i], op_of(rows, group.row[i]));
      for (unsigned i = 0; i < group.size; ++i) {
        rows.next = group.row[i];
        if (!add_change(rows, group.hash[i], results)) return false;
      }
      rows.next = group.after;
    }
    return true;
  }

  /// Row rows.next, whose line has been asked for, once there is room for it; false: there is none for the answers that this brings.
  bool add_change(const Rows& rows, std::uint64_t hash, Results& results) {
    const Op op = op_of(rows, rows.next);
    Task* same = changes_.tagged(hash);
    while (!changes_.has_room(depth_) || (same != nullptr && same->hash != hash)) {
      if (!may_change(results)) return false;
      change_one(results);
      same = changes_.tagged(hash);
    }
    const std::uint64_t id = id_of(rows, rows.next), given = form_.take(rows, rows.next);
    owed_ += !rows.silent;
    if (same != nullptr) {
      if (!changes_.add_behind(*same, op, given, id, rows.silent, with_)) ++operations_;
      return true;
    }
    const auto [line, want] = form_.place(hash);
    changes_.push({want, line, hash, given, id, op, rows.silent});
    return true;
  }

  /// Answers searches until no more than `left` wait; false: there is no room for more answers.
  bool read_until(unsigned left, Results& results) {
    if (form_.reads() <= left) return true;
    if (!results.has_room()) return false;
    Results to = results;
    std::uint64_t answers = 0, found = 0;
    lines_ += form_.drain_reads(
        left,
        [&](std::uint64_t id, const Answer& answer) {
          ++answers;
          found += answer.status == Status::found;
          give(to, id, answer);
          return to.has_room();
        },
        [&] { missed(); });
    results.size = to.size;
    results.count[static_cast<unsigned>(Status::found)] += found;
    results.count[static_cast<unsigned>(Status::not_found)] += answers - found;
    operations_ += answers;
    return form_.reads() <= left;
  }
  /// Who is in the way may not be running.
  void missed() {
    if (++misses_ % kMisses == 0) sched_yield();
  }

  /// One look at a line for a change; all that waits on its key follows while the line is at hand.
  void change_one(Results& results) {
    Task task = changes_.pop();
    for (;;) {
      Answer answer;
      ++lines_;
      const bool was_gone = Form::is_gone(task);
      const Turn turn = form_.run(task, with_, answer);
      if (turn != Turn::done) {
        if (Form::is_gone(task) && !was_gone) --fresh_;
        if (!turned(task, turn, answer)) return;
      }
      form_.drop(task);
      ++operations_;
      ++results.count[static_cast<unsigned>(answer.status)];
      if (!task.silent) {
        --owed_;
        give(results, task.id, answer);
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
      if (!may_change(results)) return changes_.push(task);
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
    changes_.push(task);
    return false;
  }

  bool grow() {
    count_fresh();  // the call ends here for the core, and the process may fork
    if (!core_.grow(member_, view_)) return false;
    enter();
    return true;
  }

  /// What is counted, the caller counts.
  [[gnu::always_inline]] void give(Results& results, std::uint64_t id, const Answer& answer) {
    const std::size_t row = results.ids != nullptr ? results.size++ : id;
    if (results.ids != nullptr) results.ids[row] = id;
    if (results.out != nullptr) form_.copy_value(answer, results.out, row);
    if (results.statuses != nullptr) results.statuses[row] = answer.status;
    if (results.found != nullptr) {
      const Status status = answer.status;
      results.found[row] =
          status == Status::found || status == Status::exists || status == Status::updated || status == Status::erased;
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
