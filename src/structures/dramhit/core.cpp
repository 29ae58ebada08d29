// core.cpp: members, and growth.
#include "structures/dramhit/core.hpp"

#include <linux/membarrier.h>

#include <algorithm>
#include <new>
#include <thread>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "structures/dramhit/wide_record.hpp"
#include "system/calls.hpp"

namespace holdfast::dramhit {
namespace {

constexpr std::uint64_t kBlock = 1024;  ///< lines that a mover takes at a time
constexpr std::uint64_t kMostLines = std::uint64_t{1} << 42;

std::uint64_t blocks_of(const View& view) { return (view.all_lines() + kBlock - 1) / kBlock; }

bool membarrier(int command) { return system::membarrier(command) == 0; }

}  // namespace

std::uint64_t Format::line_bytes() const { return wide() ? record_bytes(*this) : 64; }
std::uint64_t Format::items_a_line() const { return wide() ? 1 : 4; }

View::View(const Format& format, std::uint64_t lines, std::uint64_t seed, const MemoryChoice& choice,
           std::uint64_t of_views)
    : geometry(lines, seed),
      key_bytes(format.key_bytes),
      value_bytes(format.value_bytes),
      partitions(format.partitions),
      line_bytes(format.line_bytes()),
      number(of_views),
      most_items(static_cast<std::int64_t>(lines * format.items_a_line() * 17 / 20)),
      memory((lines + format.partitions * kMostDistance) * format.line_bytes(), choice) {
  HOLDFAST_ASSERT(lines != 0 && lines % format.partitions == 0);
}

Core::Core(const Format& format, std::uint64_t capacity, std::uint64_t seed, const MemoryChoice& choice, bool grows,
           const Mover& mover)
    : format_(format), seed_(seed), choice_(choice), grows_(grows), mover_(mover) {
#if !defined(HOLDFAST_SANITIZED)
  asymmetric_ = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
  view_ = std::make_unique<View>(format_, lines_for(capacity), seed_, choice_, ++views_);
  current_ = view_.get();
}

std::uint64_t Core::lines_for(std::uint64_t items) const {
  const std::uint64_t slots = items + items / 3 + 1;  // three quarters full
  const std::uint64_t lines = slots / format_.items_a_line() + 1;
  if (items > kMostLines || lines > kMostLines) {
    throw InvalidArgument("capacity is " + std::to_string(items) + ": give at most 2^40; the table grows by itself");
  }
  const std::uint64_t parts = format_.partitions;
  return (std::max(lines, kLeastLines) + parts - 1) / parts * parts;
}

void Core::join(Member& member) {
  const std::lock_guard lock(mutex_);
  members_.push_back(&member);
}

void Core::leave_for_good(Member& member) {
  const std::lock_guard lock(mutex_);
  std::erase(members_, &member);
  const std::int64_t items = member.items.load(std::memory_order_relaxed);
  others_items_ += items;
  others_operations_ += member.operations.load(std::memory_order_relaxed);
  others_lines_ += member.lines.load(std::memory_order_relaxed);
  roughly_ += items - member.reported.load(std::memory_order_relaxed);
}

const View* Core::enter(Member& member) const {
  const View* view = current_.load(std::memory_order_acquire);
  for (;;) {  // ends: the view changes with a growth or a fork only
    if (asymmetric_) {
      member.in.store(view, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // and wait_for_readers has the processor's
    } else {
      member.in.exchange(view, std::memory_order_seq_cst);
    }
    const View* const now = current_.load(std::memory_order_seq_cst);
    if (now == view) {
      if (view != nullptr) [[likely]]
        return view;
      std::this_thread::yield();  // the process forks
    }
    view = now;
  }
}

void Core::report(Member& member, std::int64_t items) {
  roughly_.fetch_add(items - member.reported, std::memory_order_relaxed);
  member.reported.store(items, std::memory_order_relaxed);
}

/// Null: there is no memory for it, neither of the system nor of the allocator. Never throws: its callers are in the old view, and
/// others wait for them.
std::shared_ptr<Core::Move> Core::begin_move(const View* from, std::uint64_t lines, bool drops) noexcept {
  try {
    auto move = std::make_shared<Move>();
    move->from = from;
    move->drops = drops;
    MemoryChoice lazily = choice_;
    lazily.populate = false;  // the movers touch its pages at the same time
    move->to = std::make_unique<View>(format_, lines, seed_, lazily, ++views_);
    return move;
  } catch (const NoSpace&) {
  } catch (const std::bad_alloc&) {
  }
  return nullptr;
}

Core::Change Core::change_view(Member& member, const View* view, std::uint64_t lines, bool drops) {
  HOLDFAST_ASSERT(view != nullptr && member.in.load(std::memory_order_relaxed) == view);
  std::shared_ptr<Move> move;
  Change change = Change::joined;
  {
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return !retiring_ || current_ != view; });  // old and new, and never a third
    if (current_.load(std::memory_order_relaxed) != view) {
      leave(member);
      return change;
    }
    if (!move_) {
      const std::uint64_t now = view->geometry.lines();
      if (lines == 0) {
        if (!grows_) return Change::none;
        // A table whose searches got long while little of it is live gets no larger, only tidy.
        const auto slots = static_cast<std::int64_t>(now * format_.items_a_line());
        lines = roughly_.load(std::memory_order_relaxed) * 2 < slots ? now : now * 2;
      }
      move_ = begin_move(view, lines, drops);
      if (!move_) return Change::none;
      change = Change::began;
    }
    move = move_;
  }
  while (move) {
    work(*move);
    std::unique_lock lock(mutex_);
    if (!move->over && move->done == blocks_of(*move->from)) {
      lock.unlock();
      end_move(member, move);
      lock.lock();
    }
    over_.wait(lock, [&] { return move->over; });
    if (move->lost) return Change::none;
    move = move_ && move_->from == view ? move_ : nullptr;  // not null: the new view was too small for an unlucky item
  }
  leave(member);
  return change;
}

void Core::work(Move& move) {
  const std::uint64_t lines = move.from->all_lines();
  // ends: each block is handed out once
  for (;;) {
    const std::uint64_t begin = move.next.fetch_add(1) * kBlock;
    if (begin >= lines) return;
    std::uint64_t items = 0;
    const bool moved = move.failed || mover_.move(*move.from, move.drops ? nullptr : move.to.get(), begin,
                                                  std::min(begin + kBlock, lines), items);
    if (!moved) move.failed = true;
    move.items += items;
    ++move.done;
  }
}

void Core::end_move(const Member& member, const std::shared_ptr<Move>& move) {
  std::unique_ptr<View> old;
  {
    const std::lock_guard lock(mutex_);
    if (move->over) return;
    HOLDFAST_ASSERT(move_ == move && view_.get() == move->from);
    move->over = true;
    move_.reset();
    if (move->failed) {
      begin_anew(*move);
    } else {
      old = std::move(view_);
      view_ = std::move(move->to);
      current_.store(view_.get(), std::memory_order_seq_cst);
      retiring_ = true;
      const auto items = static_cast<std::int64_t>(move->items.load());
      if (move->drops) others_items_ -= items;
      roughly_ = move->drops ? 0 : items;
      for (Member* const other : members_) other->reported = other->items.load(std::memory_order_relaxed);
      ++growths_;
    }
  }
  over_.notify_all();
  if (!old) return;
  wait_for_readers(&member, old.get());
  old.reset();
  {
    const std::lock_guard lock(mutex_);
    retiring_ = false;
  }
  over_.notify_all();
}

/// From the old view, which is whole, into a larger one; where there is no memory for that, the old one stays.
void Core::begin_anew(Move& move) {
  const std::uint64_t lines = move.to->geometry.lines() * 2;
  move.to.reset();
  move_ = begin_move(move.from, lines, move.drops);
  if (move_) return;
  mover_.thaw(*move.from, 0, move.from->all_lines());
  move.lost = true;
}

void Core::wait_for_readers(const Member* but, const View* of) const {
  if (asymmetric_) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  for (;;) {  // ends: calls do, and those that begin now see the new view
    {
      const std::lock_guard lock(mutex_);  // members come and go
      if (!is_used(but, of)) return;
    }
    std::this_thread::yield();
  }
}

bool Core::is_used(const Member* but, const View* of) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member* member) {
    return member != but && member->in.load(std::memory_order_seq_cst) == of;
  });
}

void Core::stand_still() {
  for (;;) {  // ends: calls do, and none begins
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return !move_ && !retiring_; });
    current_.store(nullptr, std::memory_order_seq_cst);
    if (asymmetric_) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (!is_used(nullptr, view_.get())) {
      lock.release();  // until go_on
      return;
    }
    lock.unlock();
    std::this_thread::yield();
  }
}

void Core::go_on(bool in_child) {
  if (in_child && asymmetric_) asymmetric_ = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  HOLDFAST_ASSERT(current_.load(std::memory_order_relaxed) == nullptr);  // since stand_still
  current_.store(view_.get(), std::memory_order_seq_cst);
  mutex_.unlock();
}

void Core::clear() {
  const Guest member(*this);
  Change change = Change::joined;
  while (change == Change::joined) {  // a growth that runs ends first
    const View* const view = enter(*member);
    change = change_view(*member, view, view->geometry.lines(), true);
  }
  if (change == Change::none) {
    throw NoSpace("clear needs as much memory again as the table has, which the system does not have: free memory");
  }
}

void Core::reserve(std::uint64_t items) {
  const std::uint64_t lines = lines_for(items);
  const Guest member(*this);
  bool done = true;
  while (done) {  // a growth that runs ends first
    const View* const view = enter(*member);
    if (view->geometry.lines() >= lines) return;
    done = change_view(*member, view, lines, false) != Change::none;
  }
  throw NoSpace("space for " + std::to_string(items) + " items is more memory than the system has");
}

std::uint64_t Core::size() const {
  const std::lock_guard lock(mutex_);
  std::int64_t items = others_items_;
  for (const Member* const member : members_) items += member->items.load(std::memory_order_relaxed);
  return items < 0 ? 0 : static_cast<std::uint64_t>(items);
}

std::uint64_t Core::slots() const {
  const std::lock_guard lock(mutex_);
  return view_->all_lines() * format_.items_a_line();
}

void Core::figures(MemoryStats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.space.slots = view_->all_lines() * format_.items_a_line();
  stats.space.bytes = view_->memory.size();
  stats.space.interleaved = view_->memory.interleaved();
  stats.work.growths = growths_.load(std::memory_order_relaxed);
  stats.work.operations = others_operations_;
  stats.work.lines = others_lines_;
  for (const Member* const member : members_) {
    stats.work.operations += member->operations.load(std::memory_order_relaxed);
    stats.work.lines += member->lines.load(std::memory_order_relaxed);
  }
}

}  // namespace holdfast::dramhit
