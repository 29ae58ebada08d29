// subject.cpp: the subject log: a pool with a hierarchical and a conventional log, and a region that transactions update.
#include "proof/kill/registry.hpp"

#include <cstring>
#include <optional>

#include "holdfast/pool.hpp"
#include "kill/log/oracle.hpp"

namespace holdfast::proof::kill {
namespace {

static_assert(kLogCalls <= kMostKinds);

constexpr Stop stop(Failpoint at, LogCall call, unsigned skip_bits = 0) {
  return {at, static_cast<unsigned>(call), 1, skip_bits};
}

/// Each failpoint of logs and transactions, in each call that passes it. What a transaction undoes itself is one given up.
constexpr Stop kLogStops[] = {
    stop(Failpoint::directory_written, LogCall::making, 1),
    stop(Failpoint::copy_half_written, LogCall::making, 2),
    stop(Failpoint::pool_unnamed, LogCall::making),
    stop(Failpoint::directory_written, LogCall::create),
    stop(Failpoint::copy_half_written, LogCall::create, 3),  // the old log's mark, the new one's page, the superblock
    stop(Failpoint::entry_stored, LogCall::insert, 2),
    stop(Failpoint::tail_stored, LogCall::insert, 2),
    stop(Failpoint::tail_stored, LogCall::remove, 1),
    stop(Failpoint::tail_stored, LogCall::clear, 1),
    stop(Failpoint::log_half_cleared, LogCall::truncate, 3),
    stop(Failpoint::flag_raised, LogCall::transaction),
    stop(Failpoint::entry_stored, LogCall::transaction, 5),
    stop(Failpoint::tail_stored, LogCall::transaction, 5),
    stop(Failpoint::update_half_written, LogCall::transaction, 5),
    stop(Failpoint::location_updated, LogCall::transaction, 5),
    stop(Failpoint::flag_cleared, LogCall::transaction),
    stop(Failpoint::log_half_cleared, LogCall::transaction, 4),
    stop(Failpoint::location_undone, LogCall::transaction, 4),
    stop(Failpoint::batch_undone, LogCall::transaction),
};

class LogSubject : public SubjectOfCalls {
 public:
  LogSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<LogShared>().calls, kLogCallNames, kLogStops) {}

  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    round_ = make_log_round(seed, options_.on_gpu());
    oracle_.emplace(round_, counted_);
    return 6 + random.below(14);
  }
  /// A recovery undoes updates, takes their entries away, and clears the flag.
  RecoveryFailpoints mended_at(Failpoint at) const override {
    switch (at) {
      case Failpoint::flag_raised: return list({Failpoint::batch_undone});
      case Failpoint::update_half_written:
      case Failpoint::location_updated:
      case Failpoint::location_undone:
        return list({Failpoint::location_undone, Failpoint::tail_stored, Failpoint::batch_undone});
      case Failpoint::flag_cleared: return list({Failpoint::log_half_cleared});
      default: return {};
    }
  }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    ours_.round = round_;
    ours_.made = 0;
  }

  Pace pace() const override {
    const bool slow = options_.on_gpu();
    return {.slow = slow,
            .longest_us = slow ? 100'000u : 30'000u,
            .call_bits = slow ? 16u : 13u,
            .patience_us = slow ? 5'000'000u : 1'000'000u};
  }

  std::vector<std::string> replay(bool) override {
    std::vector<std::string> wrong = oracle_->replay(ours_);
    ended_in(static_cast<std::uint32_t>(oracle_->pending()));
    return wrong;
  }
  void forget_found() override { std::memset(static_cast<void*>(&ours_.found), 0, sizeof(LogFound)); }
  std::vector<std::string> verify() override {
    return oracle_->verify(ours_.found, shared_.recovered.check_errors, inspect(shared_.path));
  }
  std::string about() const override {
    return std::to_string(round_.logs[kHierarchical].places()) + " threads, " +
           std::to_string(round_.logs[kConventional].places()) + " partitions, " +
           std::to_string(round_.region_words()) + " words" + (round_.flush ? ", flushed" : "") + ", killed in " +
           kind_name();
  }

  /// Of 400 kills some stop at each failpoint in each call that passes it; and of unacknowledged calls some are found, some not.
  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override {
    if (options_.stops == 0 || planned < 400) return "";
    std::string lines = never_stopped(counts);
    for (const LogCall call : {LogCall::insert, LogCall::transaction}) {
      const auto kind = static_cast<unsigned>(call);
      const std::string what = std::string("unacknowledged calls of ") + kLogCallNames[kind];
      lines += few(what + " were kept", counted_.kept[kind], 5) + few(what + " were lost", counted_.lost[kind], 5);
    }
    lines += few("unacknowledged creations were kept", counted_.kept[static_cast<unsigned>(LogCall::create)], 1);
    return lines + few("transactions were undone by a recovery", counted_.undone, 20);
  }

  void add_to(Results& results) const override {
    for (const LogCall call :
         {LogCall::insert, LogCall::remove, LogCall::clear, LogCall::truncate, LogCall::transaction, LogCall::create}) {
      const auto kind = static_cast<unsigned>(call);
      const std::string what = kLogCallNames[kind];
      results.add(what + "_calls", counted_.calls[kind]);
      results.add("pending_" + what + "_kept", counted_.kept[kind]);
      results.add("pending_" + what + "_lost", counted_.lost[kind]);
    }
    results.add("transactions_given_up", counted_.given_up);
    results.add("transactions_undone_by_recovery", counted_.undone);
    results.add("entries_verified", counted_.entries);
    results.add("regions_verified", counted_.regions);
  }

 protected:
  std::uint64_t first_stop(Random& random) const override { return 1 + random.below(random.chance(50) ? 100 : 2'000); }

 private:
  LogShared& ours_ = shared_.part<LogShared>();
  LogRound round_{};
  std::optional<LogOracle> oracle_;
  LogCounts counted_;
};

const RegisterSubject<LogSubject, LogShared> log_subject{{.name = "log", .share = 50}};

}  // namespace

}  // namespace holdfast::proof::kill
