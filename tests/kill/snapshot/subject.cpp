// subject.cpp: the subject snapshot: a pool with a table, a log, a region, a checkpoint and a store, all open and changed while snapshots are
// taken, which are restored elsewhere. A snapshot is of one moment: nothing acknowledged before it is lost, nothing later is mixed in.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "kill/snapshot/shared.hpp"
#include "proof/kill/oracle.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
namespace {

constexpr Stop stop(Failpoint at, WholeCall call, unsigned weight = 1, unsigned skip_bits = 0) {
  return {at, static_cast<unsigned>(call), weight, skip_bits};
}
constexpr Stop kWholeStops[] = {
    stop(Failpoint::pool_unnamed, WholeCall::making),
    stop(Failpoint::directory_written, WholeCall::making, 1, 2),
    stop(Failpoint::slot_committed, WholeCall::batch, 1, 5),
    stop(Failpoint::slot_cleared, WholeCall::batch, 1, 5),
    stop(Failpoint::state_copied, WholeCall::save),
    stop(Failpoint::state_filled, WholeCall::save),
    stop(Failpoint::state_switched, WholeCall::save),
    stop(Failpoint::entry_stored, WholeCall::insert),
    stop(Failpoint::tail_stored, WholeCall::insert),
    stop(Failpoint::item_committed, WholeCall::store, 1, 8),
    stop(Failpoint::item_killed, WholeCall::store, 1, 8),
    stop(Failpoint::snapshot_headless, WholeCall::snapshot, 3),
    stop(Failpoint::snapshot_unnamed, WholeCall::snapshot, 3),
    stop(Failpoint::name_given, WholeCall::snapshot, 3),
};

using Wrong = std::vector<std::string>;

std::uint64_t entry_of(std::uint64_t step) {
  const auto words = words_of<WholeEntry>(step, 0);
  return digest(words.data(), sizeof words);
}

/// The log has the entries from `first` to `last`; 0: none.
bool has_entries(const FoundWhole& found, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t count = last == 0 ? 0 : last - first + 1;
  if (found.entries != count) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (found.entry[i] != entry_of(first + i)) return false;
  }
  return true;
}

class SnapshotSubject : public SubjectOfCalls, Findings {
 public:
  SnapshotSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<WholeShared>().calls, kWholeCallNames, kWholeStops) {}

  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    ours_.round = {seed, 2, random.chance(30), false};
    items_ = PossibleValues<std::uint64_t>(kWholeKeys);
    words_ = PossibleValues<std::uint64_t>(kWholeWords);
    stored_ = PossibleValues<std::uint64_t>(kWholeKeys);
    first_entry_ = last_entry_ = saved_ = 0;
    made_ = 0;
    taken_.reset();
    return 6 + random.below(14);
  }
  RecoveryFailpoints mended_at(Failpoint at) const override {
    return at == Failpoint::state_filled ? list({Failpoint::state_withdrawn}) : RecoveryFailpoints{};
  }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    for (Steps* steps : {&ours_.batch, &ours_.save, &ours_.write, &ours_.insert, &ours_.store})
      steps->begun = steps->done = 0;
    ours_.clearing = ours_.first_entry = 0;
    ours_.cutting = ours_.cut = 0;
    ours_.made = 0;
  }
  Pace pace() const override {
    const bool slow = options_.on_gpu();
    return {.slow = slow,
            .longest_us = slow ? 200'000u : 40'000u,
            .call_bits = 22,
            .patience_us = slow ? 5'000'000u : 2'000'000u};
  }
  /// The kills at random are to fall into snapshots, or shortly after one.
  bool is_inside() const override { return ours_.cutting != ours_.cut; }

  Wrong replay(bool) override;
  void forget_found() override {
    std::memset(static_cast<void*>(&ours_.pool), 0, sizeof(FoundWhole));
    std::memset(static_cast<void*>(&ours_.restored), 0, sizeof(FoundWhole));
  }
  Wrong verify() override {
    verify_pool(ours_.pool);
    verify_snapshot(ours_.restored);
    const std::string snapshot = snapshot_of(shared_.path);
    const bool tidy = ours_.cut != 0 && ours_.cutting == ours_.cut;
    const auto left = beside(snapshot);
    expect(!tidy || left.empty(), (left.empty() ? "nothing" : left.front()) + " was left next to a snapshot");
    if (shared_.life % 3 == 0) {  // the next writer finds none to replace
      std::filesystem::remove(snapshot);
      taken_.reset();
    }
    return take();
  }
  std::string about() const override {
    return std::string(ours_.round.flush ? "flushed, " : "") + "killed in " + kind_name();
  }
  /// Of 200 kills some stop at each failpoint; and of snapshots that were not acknowledged some are found, and some are not.
  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override {
    if (options_.stops == 0 || planned < 200) return "";
    return never_stopped(counts) + few("unacknowledged snapshots were found", kept_, 5) +
           few("unacknowledged snapshots were not found", lost_, 20) +
           few("snapshots were restored", restored_, planned / 4);
  }
  void add_to(Results& results) const override {
    results.add("snapshots", taken_in_all_);
    results.add("snapshots_restored", restored_);
    results.add("pending_snapshots_kept", kept_);
    results.add("pending_snapshots_lost", lost_);
    results.add("pools_verified", pools_);
  }

 protected:
  std::uint64_t first_stop(Random& random) const override { return 1 + random.below(60); }

 private:
  void verify_pool(const FoundWhole& found);
  void verify_snapshot(const FoundWhole& found);
  bool holds(const FoundWhole& found, Cut& cut);

  WholeShared& ours_ = shared_.part<WholeShared>();
  PossibleValues<std::uint64_t> items_, words_, stored_;
  std::uint64_t first_entry_ = 0, last_entry_ = 0, saved_ = 0;
  std::uint32_t made_ = 0;    ///< objects that must be there
  std::optional<Cut> taken_;  ///< the snapshot that is there
  std::uint64_t taken_in_all_ = 0, restored_ = 0, kept_ = 0, lost_ = 0, pools_ = 0;
};

Wrong SnapshotSubject::replay(bool) {
  made_ = std::max(made_, ours_.made.load());
  taken_in_all_ += ours_.cut;
  note_calls(items_, ours_.batch.done, ours_.batch.begun, item_after);
  note_calls(words_, ours_.write.done, ours_.write.begun,
             [](std::uint64_t step, std::uint64_t k) { return mix(step, k); });
  note_calls(stored_, ours_.store.done, ours_.store.begun, stored_after);
  if (ours_.save.done != 0) saved_ = ours_.save.done;
  if (ours_.insert.done != 0) {
    first_entry_ = ours_.clearing > ours_.insert.done ? ours_.first_before.load() : ours_.first_entry.load();
    last_entry_ = ours_.insert.done;
  }
  if (ours_.cut != 0) taken_ = ours_.cuts[(ours_.cut - 1) % 2];
  const auto pends = [](const Steps& steps) { return steps.begun != steps.done; };
  ended_in(static_cast<std::uint32_t>(is_inside()           ? WholeCall::snapshot
                                      : pends(ours_.insert) ? WholeCall::insert
                                      : pends(ours_.write)  ? WholeCall::write
                                      : pends(ours_.save)   ? WholeCall::save
                                      : pends(ours_.batch)  ? WholeCall::batch
                                      : pends(ours_.store)  ? WholeCall::store
                                                            : WholeCall::none));
  return {};
}

/// Of each object all that was acknowledged is there, and of the call that was not, any part that it may leave.
void SnapshotSubject::verify_pool(const FoundWhole& found) {
  expect(found.objects >= made_ && found.objects <= 5, std::to_string(found.objects) + " objects are in the pool");
  made_ = std::max(made_, found.objects);
  expect(found.damaged == 0 && found.errors[0] == 0, std::string("the check found ") + found.errors);
  std::uint64_t items = 0;
  for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
    expect(items_.found(key, found.items[key]), "key " + std::to_string(key) + " has the item of no batch");
    expect(stored_.found(key, found.stored[key]),
           "key " + std::to_string(key) + " of the store has the item of no step");
    items += found.items[key] != 0 ? 1 : 0;
  }
  expect(found.size == items, "the table says it has " + std::to_string(found.size) + " items");
  for (std::uint64_t k = 0; k < kWholeWords; ++k) {
    expect(words_.found(k, found.words[k]), "word " + std::to_string(k) + " of the region is of no step");
  }
  const bool is_old = has_entries(found, first_entry_, last_entry_), pends = ours_.insert.begun != ours_.insert.done;
  const std::uint64_t pending = ours_.insert.begun, clearing = ours_.clearing;
  const std::uint64_t from = clearing == pending ? pending : first_entry_;
  const bool is_new = pends && has_entries(found, from, pending);
  const bool is_cleared = pends && clearing == pending && found.entries == 0;
  expect(is_old || is_new || is_cleared, "the log has not the entries of its calls");
  if (is_new) first_entry_ = from, last_entry_ = pending;
  if (is_cleared && !is_new) first_entry_ = last_entry_ = 0;
  expect(found.saved == saved_ || (found.saved != 0 && found.saved == ours_.save.begun),
         "the checkpoint has step " + std::to_string(found.saved) + ", not " + std::to_string(saved_));
  expect(found.saved_flaw[0] == 0, std::string("the checkpoint: ") + found.saved_flaw);
  saved_ = found.saved;
  ++pools_;
}

/// True if the region is that of the cut. Then the rest must be of the same moment; notes which one.
bool SnapshotSubject::holds(const FoundWhole& found, Cut& cut) {
  for (std::uint64_t k = 0; k < kWholeWords; ++k) {
    if (found.words[k] != mix(cut.written, k)) return false;
  }
  expect(has_entries(found, cut.first_entry, cut.written), "a snapshot's log is not of the moment of its region");
  std::uint64_t batch = cut.batch_to;
  const auto is_after = [&](std::uint64_t key) { return found.items[key] == item_after(batch, key); };
  const auto is_whole = [&] {
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
      if (!is_after(key)) return false;
    }
    return true;
  };
  while (batch > cut.batch_from && !is_whole()) --batch;
  expect(is_whole(), "a snapshot's table is not what any batch of its time left");
  expect(found.saved >= cut.save_from && found.saved <= cut.save_to,
         "a snapshot's checkpoint has step " + std::to_string(found.saved) + ", not from " +
             std::to_string(cut.save_from) + " to " + std::to_string(cut.save_to));
  expect(found.saved == batch || found.saved + 1 == batch, "a snapshot has the table after batch " +
                                                               std::to_string(batch) + " and the checkpoint of step " +
                                                               std::to_string(found.saved));
  std::uint64_t stored = cut.store_to;
  const auto is_of = [&](std::uint64_t step) {
    for (std::uint64_t key = 0; key < kWholeKeys; ++key) {
      if (found.stored[key] != stored_after(step, key)) return false;
    }
    return true;
  };
  while (stored > cut.store_from && !is_of(stored)) --stored;
  expect(is_of(stored), "a snapshot's store is not what any step of its time left");
  cut.store_from = cut.store_to = stored;
  cut.batch_from = cut.batch_to = batch;
  cut.save_from = cut.save_to = found.saved;
  return true;
}

void SnapshotSubject::verify_snapshot(const FoundWhole& found) {
  const bool pends = is_inside();
  if (found.opens == 0) {
    expect(!taken_, "a snapshot is gone");
    lost_ += pends ? 1 : 0;
    return;
  }
  ++restored_;
  expect(found.damaged == 0 && found.errors[0] == 0, std::string("a restored snapshot: ") + found.errors);
  expect(found.saved_flaw[0] == 0, std::string("a restored checkpoint: ") + found.saved_flaw);
  if (pends) {
    Cut cut = ours_.cuts[(ours_.cutting - 1) % 2];
    cut.batch_to = ours_.batch.begun;
    cut.save_to = ours_.save.begun;
    cut.store_to = ours_.store.begun;
    const bool is_new = holds(found, cut);
    ++(is_new ? kept_ : lost_);
    if (is_new) taken_ = cut;
    if (is_new) return;
  }
  expect(taken_ && holds(found, *taken_), "a snapshot has a region that was in the pool at none of their moments");
}

const RegisterSubject<SnapshotSubject, WholeShared> snapshot_subject{{.name = "snapshot", .share = 25}};

}  // namespace
}  // namespace holdfast::proof::kill
