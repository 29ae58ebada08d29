// lane_impl.hpp: a lane, and the engine, over one form of items. Include only in files for one instruction set; everything
// depends on `Form`, so that they share none of it.
#pragma once
#include <sched.h>

#include <algorithm>
#include <type_traits>

#include "core/both.hpp"
#include "structures/dramhit/change_queue.hpp"
#include "structures/dramhit/result_writer.hpp"
#include "structures/dramhit/row_group.hpp"

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
    const bool apart = Form::kReadsApart && rows.reads_only && changes_.empty();
    while (rows.next < rows.end) {
      enter();
      const std::size_t end = std::min(rows.end, rows.next + kRowsACall);
      bool taken = false;
      if constexpr (Form::kReadsApart) taken = apart && submit_reads(rows, end, results);
      if (!apart) taken = submit_changes(rows, end, results);
      leave();
      if (!taken) return;
    }
  }

  bool flush(Results& results) override {
    enter();
    read_until(0, results);
    if (Rows none; !changes_.empty()) change_rows(changes_.front().state.op, none, 0, 0, results);
    leave();
    return waiting() == 0;
  }

  std::size_t waiting() const override { return form_.reads() + changes_.waiting(); }
  std::int64_t items() const override { return member_.items.load(std::memory_order_relaxed) + fresh_; }
  void forget_items() override { core_.count(member_, -items()); }

 private:
  using Changes = typename Form::Changes;
  using Task = typename Changes::Task;
  using State = typename Changes::State;
  static constexpr std::size_t kRowsACall = 4096;  ///< after which an old view is released
  static constexpr unsigned kMisses = 1024;
  static constexpr std::int64_t kCounted = 256;
  static constexpr Op kAnyOp = static_cast<Op>(kOps);

  void enter() {
    const View* const view = core_.enter(member_);
    if (view->number == number_) return;
    number_ = view->number;
    view_ = view;
    const Geometry old = form_.geometry();
    const auto* const old_lines = form_.lines();
    form_.set_view(*view);
    if constexpr (Form::kReadsApart) form_.restart_reads(old, old_lines);
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
  /// A queued operation needs space for its answer.
  bool may_change(std::size_t space) const { return space != 0 || owed_ == 0; }

  /// False: the rows up to `end` were not all taken.
  bool submit_reads(Rows& rows, std::size_t end, Results& results) {
    RowGroup group;
    while (rows.next < end) {
      if (!read_until(depth_ - together_, results)) return false;
      group.take(form_, rows, end, together_);
      form_.add_reads(group.hash, group.size, [&](unsigned i) { return id_of(rows, group.row[i]); });
      rows.next = group.after;
    }
    return true;
  }

  bool submit_changes(Rows& rows, std::size_t end, Results& results) {
    if (!read_until(0, results)) return false;  // they came first
    with_ = rows.with;
    const unsigned most = sums(rows) ? std::max(depth_, kDepthOfSums) : depth_;
    return change_rows(rows.ops == nullptr ? rows.op : kAnyOp, rows, end, most - together_, results);
  }
  bool change_rows(Op op, Rows& rows, std::size_t end, unsigned left, Results& results) {
    const bool plain = results.is_plain() && form_.gives_words() && !rows.silent && rows.mask == nullptr &&
                       rows.parts == 1 && (form_.takes_words(rows) || rows.next == end);
    const auto run = [&]<Op kOp>() {
      return plain ? take_rows<kOp, true>(rows, end, left, results) : take_rows<kOp, false>(rows, end, left, results);
    };
    if constexpr (Changes::kSums) {
      if (op == Op::insert_or_assign) return run.template operator()<Op::insert_or_assign>();
      if (op == Op::accumulate) return run.template operator()<Op::accumulate>();
      if (op == Op::erase) return run.template operator()<Op::erase>();
    }
    return take_rows<kAnyOp, false>(rows, end, left, results);
  }

  /// Takes as many rows as are answered, all for `kOp` or any; without rows, answers what waits. `kPlain`: all rows, with words as values and as
  /// results. A function for each kind, not inlined: so the registers are those of its loops alone, which store little on the stack.
  template <Op kOp, bool kPlain>
  [[gnu::noinline]] bool take_rows(Rows& rows, std::size_t end, unsigned left, Results& results) {
    ResultWriter<Form, kPlain> writer(results, form_);
    RowGroup group;
    do {
      if (!change_until<kOp, kPlain>(left, writer)) return false;
      if (rows.next == end) return true;
      group.take(form_, rows, end, together_);
      if (!rows.silent) owed_ += group.size;
      kPlain || form_.takes_words(rows) ? add_changes<kOp, kPlain, true>(rows, group)
                                        : add_changes<kOp, false, false>(rows, group);
      rows.next = group.after;
    } while (rows.next < end);
    return true;
  }

  /// Whether rows on one key may become one change while they wait.
  bool sums(const Rows& rows) const {
    return Changes::kSums && rows.silent && rows.ops == nullptr && rows.op == Op::accumulate &&
           !is_float(with_.element);
  }

  /// What is needed is in registers: what is stored in a queue might be anything.
  template <Op kOp, bool kPlain, bool kWords>
  [[gnu::always_inline]] void add_changes(const Rows& rows, const RowGroup& group) {
    const auto place = form_.placer();  // of the view that is now
    const auto write = [&](unsigned i, Task& task) __attribute__((always_inline)) {
      const std::size_t row = kPlain ? rows.next + i : group.row[i];
      const auto at = place(group.hash[i]);
      const Op op = kOp == kAnyOp ? op_of(rows, row) : kOp;
      kOp == kAnyOp ? form_.ask_line(at.line, op) : form_.ask_to_change(at.line);
      task.want = at.want;
      task.line = at.line;
      task.hash = group.hash[i];
      task.given = kWords ? form_.take_word(rows, row) : form_.take(rows, row);
      task.id = id_of(rows, row);
      task.state = {0, op, !kPlain && rows.silent};
    };
    if (kOp == Op::accumulate && sums(rows)) {
      for (unsigned i = 0; i < group.size; ++i) {
        const std::uint64_t given = form_.take(rows, group.row[i]);
        operations_ += !changes_.add_sum(group.hash[i], given, with_, [&](Task& task) { write(i, task); });
      }
    } else {
      changes_.add(group.size, write);
    }
  }

  /// Answers searches until no more than `left` wait; false: there is no space for more answers.
  bool read_until(unsigned left, Results& results) {
    if (form_.reads() <= left) return true;
    const std::uint64_t all = form_.reads() - left;
    const std::uint64_t n = results.ids != nullptr ? std::min<std::uint64_t>(all, results.space - results.size) : all;
    std::uint64_t found = 0;
    with_writer(results, [&](auto& writer) {
      const auto give = [&](std::uint64_t id, const Answer& answer) {
        found += answer.status == Status::found;
        writer.give(id, answer);
      };
      lines_ += form_.drain_reads(n, give, [this] { missed(); });
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

  /// Runs changes until no more than `left` lines are waited for, and there is space for others to wait behind them; false: there
  /// is no space for more answers.
  template <Op kOp, bool kPlain, class ResultWriter>
  [[gnu::always_inline]] bool change_until(unsigned left, ResultWriter& writer) {
    while (changes_.lines() > left || !changes_.has_space_behind()) {
      if (!may_change(writer.space())) return false;
      const unsigned most = changes_.lines() > left ? left : changes_.lines() - 1;
      if (kOp == kAnyOp || changes_.front().state.op != kOp || (kPlain && changes_.front().state.silent)) {
        change_any(most, writer.results());
        writer.resume();
      } else {
        change_some<kOp, kPlain>(most, writer);
      }
    }
    return true;
  }
  [[gnu::noinline]] void change_any(unsigned left, Results& results) {
    ResultWriter<Form, false> writer(results, form_);
    change_some<kAnyOp, false>(left, writer);
  }

  /// Runs changes until no more than `left` lines are waited for, or fewer. One after the other: to look at several before the first
  /// of them is made costs more, in memory and in cache, on AMD and Intel, than the wait for its locked instruction. `kOp` is what
  /// all of them do, or kAnyOp.
  template <Op kOp, bool kPlain, class ResultWriter>
  [[gnu::always_inline]] void change_some(unsigned left, ResultWriter& writer) {
    constexpr bool kMixed = kOp == kAnyOp;
    const Combining with = with_;
    const State like{0, kOp, !kPlain && changes_.front().state.silent};
    unsigned absent = 0;
    const auto look = [&](Task & task, Answer & answer) __attribute__((always_inline)) {
      return form_.run(task, kMixed ? task.state.op : kOp, with, answer);
    };
    const auto give = [&](const Task& task, const Answer& answer) __attribute__((always_inline)) {
      form_.drop(task);
      if constexpr (kMixed) {
        ++writer.counts()[static_cast<unsigned>(answer.status)];
        fresh_ += (answer.status == Status::inserted) - (answer.status == Status::erased);
      } else {
        absent += answer.status == status_of(kOp, false);
      }
      if (!like.silent) writer.give(task.id, answer);
    };
    const auto ask_next = [&](auto& line, auto& want, Op op) __attribute__((always_inline)) {
      form_.ask_on(line, want, kMixed ? op : kOp);
    };
    const std::size_t lines = changes_.lines(), space = owed_ == 0 ? lines : writer.space();  // operations that may end
    const auto least = static_cast<unsigned>(lines - std::min(lines - left, space));
    const auto drained =
        changes_.template drain<kMixed>(least, kMixed ? kMostDepth : again_before_, like, look, give, ask_next);
    const unsigned looks = drained.looks - (drained.left != nullptr), done = looks - drained.on;
    lines_ += looks;
    operations_ += done;
    HOLDFAST_ASSERT(like.silent || owed_ >= done);
    if (!like.silent) owed_ -= done;
    if constexpr (!kMixed) {
      writer.counts()[static_cast<unsigned>(status_of(kOp, false))] += absent;
      writer.counts()[static_cast<unsigned>(status_of(kOp, true))] += done - absent;
      fresh_ += kOp == Op::erase ? static_cast<std::int64_t>(absent) - done : absent;
    }
    if (drained.left != nullptr) {
      go_on(*drained.left, drained.outcome, drained.answer, writer.results());
      writer.resume();
    }
    counted();
  }

  /// What follows the look at a line that did not end an operation, or for whose end others wait: they follow, while its lines are
  /// at hand.
  [[gnu::noinline]] void go_on(Task& task, LineOutcome outcome, Answer answer, Results& results) {
    // ends: each round answers an operation of the queue, or is the last
    for (unsigned at_hand = 0;;) {
      ++lines_;
      if (outcome != LineOutcome::done && Form::is_gone(task) && !task.state.counted) {
        task.state.counted = 1;
        --fresh_;
      }
      if (outcome == LineOutcome::next && Form::next_distance_of(task) <= at_hand) {
        form_.ask_next(task);
      } else {
        if (outcome != LineOutcome::done && !advanced(task, outcome, answer)) return;
        ++operations_;
        ++results.count[static_cast<unsigned>(answer.status)];
        form_.drop(task);
        if (!task.state.silent) {
          --owed_;
          ResultWriter<Form, false> writer(results, form_);
          writer.give(task.id, answer);
        }
        at_hand = Form::distance_of(task);
        const bool reported = task.state.counted, ends = task.state.behind == Changes::kNone;
        if (!ends) changes_.advance(task);
        if (!reported) fresh_ += (answer.status == Status::inserted) - (answer.status == Status::erased);
        counted();
        if (ends) return;
        const auto [line, want] = form_.place(task.hash);
        task.line = line;
        task.want = want;
        task.state.reach = 0;
        if (!may_change(results.left())) return changes_.push_again(task);
      }
      outcome = form_.run(task, task.state.op, with_, answer);
    }
  }

  /// Reports the count of items before it is off by much; now and then looks whether the table is full.
  void counted() {
    if (fresh_ < kCounted && fresh_ > -kCounted) return;
    const bool added = fresh_ > 0;
    count_fresh();
    if (added && core_.is_full(*view_)) static_cast<void>(grow());
  }

  void count_fresh() {
    core_.count(member_, fresh_);
    fresh_ = 0;
  }

  /// What becomes of an operation that has no answer yet; true: it has one now.
  bool advanced(Task& task, LineOutcome outcome, Answer& answer) {
    switch (outcome) {
      case LineOutcome::done: return true;
      case LineOutcome::next: form_.ask_next(task); break;
      case LineOutcome::again: missed(); break;
      case LineOutcome::frozen:
      case LineOutcome::out_of_reach:
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
    task.state.reach &= kErased;
  }

  bool grow() {
    count_fresh();  // the call ends here for the core, and the process may fork
    if (!core_.grow(member_, view_)) return false;
    enter();
    return true;
  }

  /// Calls `run(writer)` with the writer for these results.
  template <class Run>
  [[gnu::always_inline]] auto with_writer(Results& results, const Run& run) {
    if (results.is_plain() && form_.gives_words()) {
      ResultWriter<Form, true> writer(results, form_);
      return run(writer);
    }
    ResultWriter<Form, false> writer(results, form_);
    return run(writer);
  }

  Core& core_;
  const unsigned depth_, together_ = lines_together(depth_), again_before_ = again_before();
  Member member_;
  const View* view_ = nullptr;
  std::uint64_t number_ = 0;  ///< the view's; 0: none yet
  std::uint64_t operations_ = 0, lines_ = 0;
  std::size_t owed_ = 0;    ///< changes that wait, and whose answers are wanted
  std::int64_t fresh_ = 0;  ///< added less erased, not yet reported
  unsigned misses_ = 0;
  Combining with_;
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
                       std::uint64_t* hashes, std::size_t space) const override {
    return Form::items_of(view, line, from, keys, values, hashes, space);
  }
};

}  // namespace holdfast::dramhit
