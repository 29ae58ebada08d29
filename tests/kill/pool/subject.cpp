// subject.cpp: the subject pool: many tables in one pool, created, replaced, renamed, dropped and grown.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "holdfast/pool.hpp"
#include "kill/pool/oracle.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
namespace {

static_assert(kPoolCalls <= kMostKinds);

constexpr Stop stop(Failpoint at, PoolCall call, unsigned skip_bits = 0) {
  return {at, static_cast<unsigned>(call), 1, skip_bits};
}

/// Each failpoint of the pool, in each call that passes it.
constexpr Stop kPoolStops[] = {
    stop(Failpoint::directory_written, PoolCall::making),
    stop(Failpoint::copy_half_written, PoolCall::making),
    stop(Failpoint::pool_unnamed, PoolCall::making),
    stop(Failpoint::directory_written, PoolCall::create),
    stop(Failpoint::copy_half_written, PoolCall::create, 1),
    stop(Failpoint::directory_written, PoolCall::replace),
    stop(Failpoint::copy_half_written, PoolCall::replace, 2),
    stop(Failpoint::directory_written, PoolCall::rename),
    stop(Failpoint::copy_half_written, PoolCall::rename),
    stop(Failpoint::directory_written, PoolCall::drop),
    stop(Failpoint::copy_half_written, PoolCall::drop, 1),
    stop(Failpoint::level_allocated, PoolCall::grow),
    stop(Failpoint::level_added, PoolCall::grow),
    stop(Failpoint::level_drained, PoolCall::grow),
    stop(Failpoint::level_released, PoolCall::grow),
    stop(Failpoint::heap_allocated, PoolCall::grow),
    stop(Failpoint::directory_written, PoolCall::grow, 1),
    stop(Failpoint::copy_half_written, PoolCall::grow, 2),
    stop(Failpoint::copy_half_written, PoolCall::change),
    stop(Failpoint::mark_cleared, PoolCall::change),
    stop(Failpoint::copy_half_written, PoolCall::sync),
    stop(Failpoint::synced_without_mark, PoolCall::sync),
};

class PoolSubject : public Subject {
 public:
  using Subject::Subject;

  std::span<const char* const> kinds() const override { return kPoolCallNames; }
  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    round_ = make_pool_round(seed);
    oracle_.emplace(round_, counted_);
    ours_.peak = 0;
    return 6 + random.below(14);
  }
  void end_pool() override {}
  std::vector<Stop> stops(bool exists) const override;
  RecoveryFailpoints mended_at(Failpoint at) const override;
  void begin_life(const Stop& stop, Random& random) override;

  Pace pace() const override {
    const bool slow = options_.on_gpu();
    return {.slow = slow,
            .longest_us = slow ? 400'000u : 50'000u,
            .call_bits = slow ? 22u : 20u,
            .patience_us = slow ? 5'000'000u : 400'000u};
  }
  bool is_inside() const override {
    return std::any_of(std::begin(ours_.journal), std::end(ours_.journal),
                       [](const PoolJournal& journal) { return journal.inside.load(std::memory_order_acquire) != 0; });
  }
  bool is_full() const override {
    return std::all_of(ours_.journal, ours_.journal + round_.threads,
                       [](const PoolJournal& journal) { return journal.full.load(std::memory_order_acquire) != 0; });
  }

  std::vector<std::string> replay(bool) override {
    was_made_ = shared_.writing.load() == 2;
    std::vector<std::string> wrong = oracle_->replay(ours_);
    kind_ = was_made_ ? oracle_->pending() : PoolCall::making;
    return wrong;
  }
  void forget_found() override { std::memset(static_cast<void*>(&ours_.found), 0, sizeof(PoolFound)); }
  std::vector<std::string> verify() override {
    return oracle_->verify(ours_, shared_.recovered.check_errors, inspect(shared_.path));
  }
  unsigned kind() const override { return static_cast<unsigned>(kind_); }
  std::string about() const override {
    return std::to_string(round_.names) + " names, " + std::to_string(round_.threads) + " threads";
  }

  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override;
  void add_to(Results& results) const override;

 private:
  PoolShared& ours_ = shared_.part<PoolShared>();
  PoolRound round_{};
  std::optional<PoolOracle> oracle_;
  PoolCounts counted_;
  bool was_made_ = false;
  PoolCall kind_ = PoolCall::none;
};

std::vector<Stop> PoolSubject::stops(bool exists) const {
  std::vector<Stop> stops;
  for (const Stop& stop : kPoolStops) {
    if (!exists || stop.kind != static_cast<unsigned>(PoolCall::making)) stops.push_back(stop);
  }
  return stops;
}

RecoveryFailpoints PoolSubject::mended_at(Failpoint at) const {
  using enum Failpoint;
  switch (at) {
    case none:
    case pool_unnamed: return {};
    case level_added:
    case level_drained: return list({directory_written, copy_half_written, level_drained, level_released});
    default: return list({copy_half_written, mark_cleared, synced_without_mark});
  }
}

void PoolSubject::begin_life(const Stop& stop, Random& random) {
  ours_.round = round_;
  ours_.check_first = random.chance(50) ? 1 : 0;
  ours_.often = static_cast<PoolCall>(stop.kind);
  ours_.often_from = static_cast<std::uint32_t>(1 + random.below(12));
  ours_.stop_at = 0;
  if (stop.at == Failpoint::none) ours_.often = PoolCall::none;
  if (stop.at != Failpoint::none && ours_.often != PoolCall::making) {
    ours_.stop_at = static_cast<std::uint32_t>(stop.at);
    shared_.failpoints.armed = 0;  // the writer arms it, in calls of that kind
  }
  for (PoolJournal& journal : ours_.journal) journal.inside = journal.full = journal.begun = 0;
}

/// Of 1,000 kills some fall in each call, and stop at each failpoint in each call that passes it, and of 100 on a GPU at each
/// failpoint; and of each call that changes names, some that were not acknowledged are found done, and some not.
std::string PoolSubject::lacking(const KillCounts& counts, std::uint64_t planned) const {
  if (options_.stops == 0 || planned < (options_.on_gpu() ? 100 : 1000)) return "";
  std::string lines;
  for (const Stop& stop : kPoolStops) {
    const AtFailpoint& at = counts.at[static_cast<unsigned>(stop.at)];
    const bool any = options_.on_gpu() ? at.all_kills() != 0 : at.kills[stop.kind] != 0;
    if (!any)
      lines += std::string("no writer stopped at ") + name_of(stop.at) + " in " + kPoolCallNames[stop.kind] + "\n";
  }
  constexpr std::uint64_t kEach = 5;
  for (unsigned call = 0; call < kPoolCalls - 1 && !options_.on_gpu(); ++call) {
    const std::string kind = kPoolCallNames[call];
    lines += few("kills fell inside " + kind, counts.lives[call], kEach);
    if (!changes_names(static_cast<PoolCall>(call))) continue;
    lines += few("unacknowledged calls of " + kind + " were kept", counted_.kept[call], kEach) +
             few("unacknowledged calls of " + kind + " were lost", counted_.lost[call], kEach);
  }
  return lines;
}

void PoolSubject::add_to(Results& results) const {
  Results::Row calls, kept, lost;
  for (unsigned call = 1; call < kPoolCalls - 1; ++call) {
    calls.emplace_back(kPoolCallNames[call], counted_.calls[call]);
    kept.emplace_back(kPoolCallNames[call], counted_.kept[call]);
    lost.emplace_back(kPoolCallNames[call], counted_.lost[call]);
  }
  const auto sum = [](const auto& counts) {
    return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
  };
  results.add("calls", sum(counted_.calls));
  results.add("calls_refused", counted_.refused);
  results.add("directories_verified", counted_.directories);
  results.add("directory_changes_verified", counted_.names);
  results.add("tables_verified", counted_.tables);
  results.add("items_verified", counted_.items);
  results.add("pending_kept", sum(counted_.kept));
  results.add("pending_lost", sum(counted_.lost));
  results.add("pending_in_part", counted_.torn);
  results.add("most_objects", counted_.most_objects);
  results.add("most_file_percent", counted_.most_percent);
  results.add("calls_by_kind", calls);
  results.add("pending_kept_by_kind", kept);
  results.add("pending_lost_by_kind", lost);
}

const RegisterSubject<PoolSubject, PoolShared> pool_subject{{.name = "pool"}};

}  // namespace

}  // namespace holdfast::proof::kill
