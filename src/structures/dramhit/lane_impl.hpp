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
    while (results.has_room() && !form_.no_reads()) read_one(results);
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
  static std::uint64_t id_of(const Rows& rows, std::size_t row) { return rows.ids != nullptr ? rows.ids[row] : row; }
  /// What waits for an answer needs room for it.
  bool may_change(const Results& results) const { return results.has_room() || owed_ == 0; }

  /// False: the rows up to `end` were not all taken.
  bool submit_reads(Rows& rows, std::size_t end, Results& results) {
    for (; rows.next < end; ++rows.next) {
      const std::uint64_t hash = form_.hash(rows, rows.next);
      if (skips(rows, rows.next, hash)) continue;
      while (form_.reads() >= depth_) {
        if (!results.has_room()) return false;
        read_one(results);
      }
      form_.add_read(hash, id_of(rows, rows.next));
    }
    return true;
  }

  bool submit_changes(Rows& rows, std::size_t end, Results& results) {
    while (!form_.no_reads()) {  // they came first
      if (!results.has_room()) return false;
      read_one(results);
    }
    with_ = rows.with;
    for (; rows.next < end; ++rows.next) {
      const std::uint64_t hash = form_.hash(rows, rows.next);
      if (!skips(rows, rows.next, hash) && !add_change(rows, hash, results)) return false;
    }
    return true;
  }

  /// Row rows.next, once there is room for it; false: there is none for the answers that this brings.
  bool add_change(const Rows& rows, std::uint64_t hash, Results& results) {
    const Op op = rows.ops != nullptr ? static_cast<Op>(rows.ops[rows.next]) : rows.op;
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
    const auto [line, want] = form_.ask(hash, op);
    changes_.push({want, line, hash, given, id, op, rows.silent});
    return true;
  }

  [[gnu::always_inline]] void read_one(Results& results) {
    Answer answer;
    std::uint64_t id;
    ++lines_;
    const Turn turn = form_.read(answer, id);
    if (turn == Turn::done) [[likely]]
      return give(results, id, answer);
    if (turn == Turn::again) missed();
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
      if (task.silent) {
        ++operations_;
        ++results.count[static_cast<unsigned>(answer.status)];
      } else {
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

  [[gnu::always_inline]] void give(Results& results, std::uint64_t id, const Answer& answer) {
    ++operations_;
    const std::size_t row = results.ids != nullptr ? results.size++ : id;
    if (results.ids != nullptr) results.ids[row] = id;
    if (results.out != nullptr) form_.copy_value(answer, results.out, row);
    if (results.statuses != nullptr) results.statuses[row] = answer.status;
    if (results.found != nullptr) {
      const Status status = answer.status;
      results.found[row] =
          status == Status::found || status == Status::exists || status == Status::updated || status == Status::erased;
    }
    ++results.count[static_cast<unsigned>(answer.status)];
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
