// subject.cpp: the subject checkpoint: a pool with one, made, replaced, and saved into with several saves in flight.
#include "kill/subject.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "holdfast/pool.hpp"
#include "kill/checkpoint/oracle.hpp"

namespace holdfast::test::kill {
namespace {

static_assert(kCheckpointCalls <= kMostKinds);

constexpr Stop stop(Failpoint at, CheckpointCall call, unsigned skip_bits = 0) {
  return {at, static_cast<unsigned>(call), 1, skip_bits};
}

/// Each failpoint of a checkpoint, in each call that passes it.
constexpr Stop kSaveStops[] = {
    stop(Failpoint::directory_written, CheckpointCall::making),
    stop(Failpoint::copy_half_written, CheckpointCall::making),
    stop(Failpoint::pool_unnamed, CheckpointCall::making),
    stop(Failpoint::directory_written, CheckpointCall::create),
    stop(Failpoint::copy_half_written, CheckpointCall::create, 1),
    stop(Failpoint::directory_written, CheckpointCall::save),
    stop(Failpoint::copy_half_written, CheckpointCall::save),
    stop(Failpoint::state_withdrawn, CheckpointCall::save, 2),
    stop(Failpoint::state_copied, CheckpointCall::save, 2),
    stop(Failpoint::state_filled, CheckpointCall::save, 2),
    stop(Failpoint::state_switched, CheckpointCall::save, 2),
};

class CheckpointSubject : public Subject {
 public:
  using Subject::Subject;

  const char* name() const override { return "checkpoint"; }
  std::span<const char* const> kinds() const override { return kCheckpointCallNames; }
  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    round_ = make_checkpoint_round(seed, options_.on_gpu());
    oracle_.emplace(round_, counted_);
    return 6 + random.below(14);
  }
  void end_pool() override {}
  std::vector<Stop> stops(bool exists) const override {
    std::vector<Stop> stops;
    for (const Stop& stop : kSaveStops) {
      if (!exists || stop.kind != static_cast<unsigned>(CheckpointCall::making)) stops.push_back(stop);
    }
    return stops;
  }
  /// A copy that was filled, and not switched to, is withdrawn by the recovery.
  RecoveryFailpoints mended_at(Failpoint at) const override {
    return at == Failpoint::state_filled ? list({Failpoint::state_withdrawn}) : RecoveryFailpoints{};
  }
  void begin_life(const Stop& stop, Random& random) override {
    CheckpointShared& ours = shared_.checkpoint;
    ours.round = round_;
    ours.stop_in = static_cast<CheckpointCall>(stop.kind);
    ours.stop_from = static_cast<std::uint32_t>(1 + random.below(12));
    ours.stop_at = 0;
    if (stop.at == Failpoint::none) ours.stop_in = CheckpointCall::none;
    if (stop.at != Failpoint::none && ours.stop_in != CheckpointCall::making) {
      ours.stop_at = static_cast<std::uint32_t>(stop.at);
      shared_.failpoints.armed = 0;  // the writer arms it, in calls of that kind
    }
    ours.inside = ours.full = ours.begun = 0;
  }

  Pace pace() const override {
    const bool slow = options_.on_gpu();
    return {.slow = slow,
            .longest_us = slow ? 200'000u : 50'000u,
            .call_bits = 20,
            .patience_us = slow ? 5'000'000u : 1'000'000u};
  }
  bool is_inside() const override { return shared_.checkpoint.inside.load(std::memory_order_acquire) != 0; }
  bool is_full() const override { return shared_.checkpoint.full.load(std::memory_order_acquire) != 0; }

  std::vector<std::string> replay(bool) override {
    std::vector<std::string> wrong = oracle_->replay(shared_.checkpoint);
    kind_ = shared_.writing.load() == 2 ? oracle_->pending() : CheckpointCall::making;
    return wrong;
  }
  void forget_found() override {
    std::memset(static_cast<void*>(&shared_.checkpoint.found), 0, sizeof(CheckpointFound));
  }
  std::vector<std::string> verify() override {
    return oracle_->verify(shared_.checkpoint.found, shared_.recovered.check_errors, inspect(shared_.path));
  }
  unsigned kind() const override { return static_cast<unsigned>(kind_); }
  std::string about() const override { return std::to_string(round_.copies) + " copies"; }

  /// Of 400 kills some stop at each failpoint in each call that passes it; and of unacknowledged saves some are found, some not.
  std::string lacking(const Counts& counts, std::uint64_t planned) const override {
    if (options_.stops == 0 || planned < 400) return "";
    std::string lines;
    for (const Stop& stop : kSaveStops) {
      if (counts.at[static_cast<unsigned>(stop.at)].kills[stop.kind] != 0) continue;
      lines +=
          std::string("no writer stopped at ") + name_of(stop.at) + " in " + kCheckpointCallNames[stop.kind] + "\n";
    }
    constexpr auto kSave = static_cast<unsigned>(CheckpointCall::save);
    return lines + few("unacknowledged saves were kept", counted_.kept[kSave], 5) +
           few("unacknowledged saves were lost", counted_.lost[kSave], 5);
  }

  void add_to(Results& results) const override {
    constexpr auto kCreate = static_cast<unsigned>(CheckpointCall::create);
    constexpr auto kSave = static_cast<unsigned>(CheckpointCall::save);
    results.add("creations", counted_.calls[kCreate]);
    results.add("saves", counted_.calls[kSave]);
    results.add("states_verified", counted_.states);
    results.add("most_saves_in_flight", counted_.most_in_flight);
    results.add("pending_saves_kept", counted_.kept[kSave]);
    results.add("pending_saves_lost", counted_.lost[kSave]);
    results.add("pending_creations_kept", counted_.kept[kCreate]);
    results.add("pending_creations_lost", counted_.lost[kCreate]);
  }

 private:
  CheckpointRound round_{};
  std::optional<CheckpointOracle> oracle_;
  CheckpointCounts counted_;
  CheckpointCall kind_ = CheckpointCall::none;
};

}  // namespace

std::unique_ptr<Subject> make_checkpoint_subject(const Options& options, Shared& shared) {
  return std::make_unique<CheckpointSubject>(options, shared);
}

}  // namespace holdfast::test::kill
