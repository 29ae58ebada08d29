// impl.cpp: how a table opens and closes.
#include "table/impl.hpp"

#include "core/both.hpp"
#include "structures/gphash/table_kind.hpp"
#include "table/pool_impl.hpp"
#include "table/predicate_thread.hpp"
#include "table/recovery/largest_score.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast {

Table::Impl::Impl(std::shared_ptr<Pool::Impl> pool, std::unique_ptr<gphash::TableObject> object, table::Choice choice,
                  const gphash::MachineOptions& options, bool only_read)
    : OpenObject(object->number(), object->path()),
      key_bytes(object->shape().key_bytes),
      value_bytes(object->shape().value_bytes),
      score(object->shape().score),
      read_only(only_read),
      pool_name(pool.get()),
      sessions(std::make_shared<SessionGate>(path)),
      pool_(std::move(pool)),
      object_(std::move(object)),
      choice_(std::move(choice)),
      runs_single_rows_(choice_.device < 0 && value_bytes <= gphash::kMaxValueBytes) {
  // Recovery may mend slots, which is a change. A clean table needs no mending.
  if (!object_->read_only() && !object_->was_clean()) object_->mark_changed(choice_.device >= 0);
  gphash::MachineOptions with_calls = options;
  with_calls.calls = &gates_.calls;
  machine_ = table::make_machine(*object_, choice_, with_calls);
  restore_step();
  must_be_whole();
  if (!object_->read_only()) object_->raise_domain(choice_.device >= 0);
  object_->pool().keep_space();
}

Table::Impl::~Impl() {
  if (forked()) {
    // The mappings, the lock and the threads are the parent's: nothing of them is for this process to end.
    static_cast<void>(machine_.release());
    static_cast<void>(object_.release());
    return;
  }
  try {
    sessions->end();
    finish();  // without the gates: this is the only owner
  } catch (const std::exception&) {
    // A destructor cannot report errors. The pool stays without a clean mark, and the next open recovers it.
  }
}

void Table::Impl::close() {
  if (forked()) throw ObjectClosed(inherited());
  PredicateThread::refuse(pool_name, path);
  sessions->end();  // who waits for its end stands between the gates
  const std::unique_lock changing(gates_.changes);
  sessions->end();  // one that began meanwhile, and would hold up who has passed the second gate
  const std::unique_lock open(gates_.use);
  finish();
}

/// The caller is alone on the table.
void Table::Impl::finish() {
  if (!machine_) return;
  HOLDFAST_ASSERT(object_ != nullptr && pool_ != nullptr);
  const std::shared_ptr<Pool::Impl> pool = std::move(pool_);  // ends last: the file and its lock
  const std::unique_ptr<gphash::TableObject> object = std::move(object_);
  const std::unique_ptr<gphash::Machine> machine = std::move(machine_);  // ends before its pool
  machine->wait();
  if (!object->read_only()) object->sync();
}

bool Table::Impl::is_open() const {
  if (forked()) return false;
  const std::shared_lock lock(gates_.use);
  return machine_ != nullptr;
}

CheckReport Table::Impl::check() {
  const Alone alone = use_alone();
  return gphash::check(*machine_, *object_);
}

std::unique_ptr<pool::Quiesced> Table::Impl::quiesce(const SnapshotOptions& how) {
  struct Still : pool::Quiesced {
    std::unique_lock<threads::Gate> lock;
  };
  if (!how.wait_for_sessions && sessions->is_open()) {
    throw InvalidArgument("a session is open on " + path + ": commit it, or let the snapshot wait for it");
  }
  auto still = std::make_unique<Still>();
  still->lock = keep_still_if_open();
  if (!still->lock) return nullptr;
  machine_->wait();  // for what was enqueued: from then on the pool's bytes are all there is
  if (object_->shape().is_resizing) {
    throw NoSpace("a resize of " + path +
                  " did not end, for lack of space on its medium or of memory: make space, open it again, and take the "
                  "snapshot then");
  }
  still->object = object_.get();
  still->items = machine_->size();
  return still;
}

/// The first gate, with no session behind it.
template <class Lock>
Lock Table::Impl::pass_changing() const {
  // ends: it goes back only if a session began between the two looks
  for (;;) {
    sessions->wait();
    Lock lock(gates_.changes);
    if (!sessions->is_open()) return lock;
  }
}

template <class Use>
Use Table::Impl::enter() const {
  if (forked()) throw ObjectClosed(inherited());
  PredicateThread::refuse(pool_name, path);
  Use use{pass_changing<decltype(Use::changing)>(), decltype(Use::open)(gates_.use)};
  must_be_open();
  return use;
}

std::shared_lock<threads::Gate> Table::Impl::use() const {
  if (forked()) throw ObjectClosed(inherited());
  std::shared_lock lock(gates_.use);
  must_be_open();
  return lock;
}

std::shared_lock<threads::Gate> Table::Impl::use_between_sessions() const {
  if (forked()) throw ObjectClosed(inherited());
  sessions->wait();
  return use();
}

Table::Impl::Change Table::Impl::change() const { return enter<Change>(); }

std::unique_lock<threads::Gate> Table::Impl::keep_still() const {
  std::unique_lock<threads::Gate> lock = keep_still_if_open();
  if (!lock) must_be_open();
  return lock;
}

std::unique_lock<threads::Gate> Table::Impl::keep_still_if_open() const {
  if (forked()) throw ObjectClosed(inherited());
  PredicateThread::refuse(pool_name, path);
  auto lock = pass_changing<std::unique_lock<threads::Gate>>();
  if (!machine_) lock.unlock();
  return lock;
}

Table::Impl::ChangeAlone Table::Impl::change_alone() const { return enter<ChangeAlone>(); }

Table::Impl::Alone Table::Impl::use_alone() const { return enter<Alone>(); }

void Table::Impl::must_be_open() const {
  if (!machine_) throw ObjectClosed(path + " is closed: open it again");
}

void Table::Impl::require_writable() const {
  if (read_only) throw ReadOnly(path + " is open read-only: open it with mode \"r+\" to change it");
}

/// A table that is opened again continues with the largest step that its changes were given.
void Table::Impl::restore_step() {
  if (score != Score::step) return;
  std::optional<std::uint64_t> last = object_->noted_step();
  if (!last) {
    last = table::largest_score(*object_);
    object_->know_step(*last);
  }
  step.store(*last, std::memory_order_relaxed);
}

void Table::Impl::about_to_change(std::size_t rows) {
  require_writable();
  object_->mark_changed(choice_.device >= 0, rows);
}

std::uint64_t Table::Impl::score_now() const {
  if (score == Score::step) {
    const std::uint64_t now = step.load(std::memory_order_relaxed);
    object_->note_step(now);
    return now;
  }
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
