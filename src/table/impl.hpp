// impl.hpp: an open table: its object in a pool, the machine that works on it, and the right to use them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "holdfast/table.hpp"
#include "pool/kinds/open_object.hpp"
#include "structures/gphash/machine.hpp"
#include "structures/gphash/table_object.hpp"
#include "table/choice.hpp"
#include "table/session_gate.hpp"
#include "threads/use_gates.hpp"

namespace holdfast {

class Table::Impl : public pool::OpenObject {
 public:
  Impl(std::shared_ptr<Pool::Impl> pool, std::unique_ptr<gphash::TableObject> object, table::Choice choice,
       const gphash::MachineOptions& options, bool read_only);
  ~Impl() override;

  void close() override;
  bool is_open() const override;
  CheckReport check() override;
  /// Keeps it still, once what was enqueued has run. Throws InvalidArgument where sessions stand in the way and `how` does not
  /// wait for them, NoSpace where a resize did not end.
  std::unique_ptr<pool::Quiesced> quiesce(const SnapshotOptions& how) override;
  bool waits_for_user() const override { return true; }  // for the end of a session
  void refuse_wait_for_self() const override { sessions->refuse_own(); }
  /// Runs what it can of a batch with few rows in host memory, without a wait for any gate. Returns how far it came. `stays`: the
  /// thread stays inside after it, and keeps growth and closing out until it leaves. Throws as Table::run.
  std::size_t run_few(const Batch& batch, OpSet ops, bool stays, BatchResult& result);
  /// The same of one row, by an epoch of thread `number`. `not_run`: `run` does it, and has the words for what is refused.
  Status find_one(const void* key, void* out, unsigned number) {
    if (!runs_single_rows_ || forked() || !gates_.calls.enter(number, threads::CallSlots::Kind::search))
      return Status::not_run;
    if (machine_ == nullptr || key == nullptr) return Status::not_run;
    const Status status = machine_->find_one(key, out, number);
    must_be_whole();
    return status;
  }
  Status change_one(const gphash::OneRow& row, unsigned number);
  /// Table::run.
  BatchResult run(const Batch& batch, bool stays);
  /// Thread `number` has stayed inside after a call, and leaves.
  void leave(unsigned number) {
    if (!forked() && gates_.calls.is_inside(number)) gates_.calls.leave(number);
  }
  /// What is wrong with a batch of such operations. The caller keeps the table open.
  void check_batch(const Batch& batch, OpSet ops) const;

  /// The right to use the table, as long as it lives. While one changes it, none keeps it still.
  struct Change {
    std::shared_lock<threads::Gate> changing;
    std::shared_lock<threads::Gate> open;
  };
  struct Alone {
    std::unique_lock<threads::Gate> changing;
    std::unique_lock<threads::Gate> open;
  };
  /// Keeps the table open. Throws ObjectClosed, as all of these.
  std::shared_lock<threads::Gate> use() const;
  /// The same for what a session stands in the way of: waits until none is open, as all that follow do. They throw InvalidArgument
  /// where this thread would wait for its own.
  std::shared_lock<threads::Gate> use_between_sessions() const;
  /// The same for what changes the table; waits until changes are not excluded.
  Change change() const;
  /// The same for callers that need unchanging bytes: waits until no change runs. Searches continue, those of this thread too:
  /// it need not hold `use`, since who would close the table takes `changes` first.
  std::unique_lock<threads::Gate> keep_still() const;
  /// The same; holds nothing if the table is closed.
  std::unique_lock<threads::Gate> keep_still_if_open() const;
  /// The same for exclusive changes.
  struct ChangeAlone {
    std::unique_lock<threads::Gate> changing;
    std::shared_lock<threads::Gate> open;
  };
  ChangeAlone change_alone() const;
  /// The same, exclusively: waits until no other thread uses it.
  Alone use_alone() const;
  /// Before a change of so many rows; before the first after a sync the clean mark goes, durably. Throws ReadOnly, MediumError.
  void about_to_change(std::size_t rows = ~std::size_t{0});
  /// After whatever read or changed the pool, and before its outcome is reported. Throws MediumError.
  void must_be_whole() const { object_->pool().require_whole(); }
  void require_writable() const;  ///< throws ReadOnly

  /// What changes of a batch that is given now set; behind `about_to_change`. Makes a new step durable first.
  std::uint64_t score_now() const;
  /// Throws InvalidArgument where the table keeps no scores.
  void require_scores() const;

  gphash::TableObject& object() { return *object_; }
  const std::shared_ptr<Pool::Impl>& pool() { return pool_; }
  gphash::Machine& machine() { return *machine_; }
  const table::Choice& choice() const { return choice_; }

  const std::uint32_t key_bytes, value_bytes;
  const Score score;
  std::atomic<std::uint64_t> step{0};
  std::uint64_t left_out = 0;   ///< of a salvaged pool: damaged slots
  const bool read_only;         ///< nothing may change, although recovery may have changed a private copy
  const void* const pool_name;  ///< of its gates
  const std::shared_ptr<SessionGate> sessions;

 private:
  template <class Use>
  Use enter() const;
  template <class Lock>
  Lock pass_changing() const;
  void must_be_open() const;
  void restore_step();
  void finish();
  std::string inherited() const;

  mutable threads::UseGates gates_{pool_name, this};
  std::shared_ptr<Pool::Impl> pool_;
  std::unique_ptr<gphash::TableObject> object_;
  table::Choice choice_;
  const bool runs_single_rows_;  ///< find_one and change_one
  std::unique_ptr<gphash::Machine> machine_;
};

}  // namespace holdfast
