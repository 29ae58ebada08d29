// subject.cpp: the subject checkpoint: a pool with one, made, replaced, and saved into with several saves in flight.
#include "proof/kill/registry.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "holdfast/pool.hpp"
#include "kill/checkpoint/oracle.hpp"

namespace holdfast::proof::kill {
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

class CheckpointSubject : public SubjectOfCalls {
 public:
  CheckpointSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<CheckpointShared>().calls, kCheckpointCallNames, kSaveStops) {}

  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    round_ = make_checkpoint_round(seed, options_.on_gpu());
    oracle_.emplace(round_, counted_);
    return 6 + random.below(14);
  }
  /// A copy that was filled, and not switched to, is withdrawn by the recovery.
  RecoveryFailpoints mended_at(Failpoint at) const override {
    return at == Failpoint::state_filled ? list({Failpoint::state_withdrawn}) : RecoveryFailpoints{};
  }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    ours_.round = round_;
  }

  Pace pace() const override {
    const bool slow = options_.on_gpu();
    return {.slow = slow,
            .longest_us = slow ? 200'000u : 50'000u,
            .call_bits = 20,
            .patience_us = slow ? 5'000'000u : 1'000'000u};
  }

  std::vector<std::string> replay(bool) override {
    std::vector<std::string> wrong = oracle_->replay(ours_);
    ended_in(static_cast<std::uint32_t>(oracle_->pending()));
    return wrong;
  }
  void forget_found() override { std::memset(static_cast<void*>(&ours_.found), 0, sizeof(CheckpointFound)); }
  std::vector<std::string> verify() override {
    return oracle_->verify(ours_.found, shared_.recovered.check_errors, inspect(shared_.path));
  }
  std::string about() const override { return std::to_string(round_.copies) + " copies"; }

  /// Of 400 kills some stop at each failpoint in each call that passes it; and of unacknowledged saves some are found, some not.
  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override {
    if (options_.stops == 0 || planned < 400) return "";
    std::string lines = never_stopped(counts);
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

 protected:
  std::uint64_t first_stop(Random& random) const override { return 1 + random.below(12); }

 private:
  CheckpointShared& ours_ = shared_.part<CheckpointShared>();
  CheckpointRound round_{};
  std::optional<CheckpointOracle> oracle_;
  CheckpointCounts counted_;
};

const RegisterSubject<CheckpointSubject, CheckpointShared> checkpoint_subject{{.name = "checkpoint", .share = 50}};

}  // namespace

}  // namespace holdfast::proof::kill
