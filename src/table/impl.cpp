// impl.cpp: how a table opens and closes.
#include "table/impl.hpp"

#include "table/pool_impl.hpp"

#include <chrono>
#include <mutex>
#include <utility>

namespace holdfast {

Table::Impl::Impl(std::shared_ptr<Pool::Impl> pool, std::unique_ptr<gphash::TableObject> object, table::Choice choice,
                  const machine::MachineOptions& options, bool only_read)
    : path(object->path()),
      key_bytes(object->shape().key_bytes),
      value_bytes(object->shape().value_bytes),
      score(object->shape().score),
      read_only(only_read),
      sessions(std::make_shared<SessionGate>(path)),
      pool_(std::move(pool)),
      object_(std::move(object)),
      choice_(std::move(choice)) {
  // Recovery may mend slots, which is a change. A clean table needs no mending.
  if (!object_->read_only() && !object_->was_clean()) object_->mark_changed(choice_.device >= 0);
  machine_ = table::make_machine(*object_, choice_, options);
}

Table::Impl::~Impl() {
  if (forked()) {
    // The mappings, the lock and the threads are the parent's: nothing of them is for this process to end.
    static_cast<void>(machine_.release());
    static_cast<void>(object_.release());
    return;
  }
  try {
    close();
  } catch (const std::exception&) {
    // A destructor has nobody to tell. The pool stays without a clean mark, and the next open recovers it.
  }
}

void Table::Impl::close() {
  if (forked()) throw TableClosed(inherited());
  must_not_decide();
  sessions->end();  // who waits for its end stands between the gates
  const std::unique_lock changing(changing_);
  sessions->end();  // one that began meanwhile
  const std::unique_lock open(open_);
  if (!machine_) return;
  const std::shared_ptr<Pool::Impl> pool = std::move(pool_);  // ends last: the file and its lock
  const std::unique_ptr<gphash::TableObject> object = std::move(object_);
  const std::unique_ptr<machine::Machine> machine = std::move(machine_);  // ends before its pool
  machine->wait();
  if (!object->read_only()) object->sync();
}

bool Table::Impl::is_open() const {
  if (forked()) return false;
  const std::shared_lock lock(open_);
  return machine_ != nullptr;
}

CheckReport Table::Impl::check() {
  const Alone alone = use_alone();
  return machine_->check();
}

/// The first gate, with no session behind it.
template <class Lock>
Lock Table::Impl::pass_changing() const {
  for (;;) {
    sessions->wait();
    Lock lock(changing_);
    if (!sessions->is_open()) return lock;
  }
}

template <class Use>
Use Table::Impl::enter() const {
  if (forked()) throw TableClosed(inherited());
  must_not_decide();
  Use use{pass_changing<decltype(Use::changing)>(), decltype(Use::open)(open_)};
  must_be_open();
  return use;
}

std::shared_lock<Gate> Table::Impl::use() const {
  if (forked()) throw TableClosed(inherited());
  std::shared_lock lock(open_);
  must_be_open();
  return lock;
}

std::shared_lock<Gate> Table::Impl::use_between_sessions() const {
  if (forked()) throw TableClosed(inherited());
  sessions->wait();
  return use();
}

Table::Impl::Change Table::Impl::change() const { return enter<Change>(); }

std::unique_lock<Gate> Table::Impl::keep_still() const {
  if (forked()) throw TableClosed(inherited());
  must_not_decide();
  auto lock = pass_changing<std::unique_lock<Gate>>();
  must_be_open();
  return lock;
}

Table::Impl::ChangeAlone Table::Impl::change_alone() const { return enter<ChangeAlone>(); }

Table::Impl::Alone Table::Impl::use_alone() const { return enter<Alone>(); }

void Table::Impl::must_be_open() const {
  if (!machine_) throw TableClosed(path + " is closed: open it again");
}

void Table::Impl::must_not_decide() const {
  if (deciding_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return;
  throw InvalidArgument("a predicate of erase_if on " + path +
                        " changes, syncs or closes the table: it may search it; change it afterwards");
}

void Table::Impl::about_to_change() {
  if (read_only) throw ReadOnly(path + " is open read-only: open it with mode \"r+\" to change it");
  object_->mark_changed(choice_.device >= 0);
}

std::uint64_t Table::Impl::score_now() const {
  if (score == Score::step) return step.load(std::memory_order_relaxed);
  if (score != Score::time) return 0;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

void Table::Impl::require_scores() const {
  if (score != Score::none) return;
  throw InvalidArgument(path + " keeps no scores: create a table with score \"step\", \"time\" or \"frequency\"");
}

std::string Table::Impl::inherited() const {
  return path + " was opened by the parent of this process: open it here after the parent has closed it";
}

}  // namespace holdfast
