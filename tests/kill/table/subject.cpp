// subject.cpp: the subject table: one table in a pool of its own, called by one thread or two.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "holdfast/pool.hpp"
#include "kill/table/failpoints.hpp"
#include "kill/table/oracle.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
namespace {

constexpr std::array<const char*, kKinds> kNamesOfKinds{"in_slots", "in_cells", "wide", "variable", "scored"};

/// What a writer does beside its plan, so that it comes there.
Urge urge_to(Failpoint at, Theme theme) {
  if (theme == Theme::resizes) return Urge::grow;
  return at == Failpoint::synced_without_mark || at == Failpoint::copy_half_written ? Urge::sync : Urge::none;
}

/// A pool that is being made has no name yet, and one that is made has its table.
bool is_resizing(const std::string& path) {
  return std::filesystem::exists(path) && inspect(path).objects.at(0).table.resizing;
}

class TableSubject : public Subject {
 public:
  using Subject::Subject;

  std::span<const char* const> kinds() const override { return kNamesOfKinds; }
  std::uint64_t begin_pool(std::uint64_t seed, bool stops, Random& random) override;
  void end_pool() override;
  std::vector<Stop> stops(bool exists) const override;
  RecoveryFailpoints mended_at(Failpoint at) const override { return table_mended_at(at); }
  void begin_life(const Stop& stop, Random& random) override;

  Pace pace() const override;
  bool is_inside() const override { return is_inside(0); }
  bool is_full() const override;
  void stopped() override { stopped_in_resize_ = round_.theme == Theme::resizes && is_resizing(shared_.path); }

  std::vector<std::string> replay(bool stopped) override;
  void forget_found() override { std::memset(static_cast<void*>(&ours_.found), 0, offsetof(Found, contained)); }
  std::vector<std::string> verify() override;
  unsigned kind() const override { return static_cast<unsigned>(kind_of(round_)); }
  bool has_more() const override;
  std::string about() const override;

  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override;
  void add_to(Results& results) const override;

 private:
  TableShared& ours_ = shared_.part<TableShared>();
  Theme next_theme() const;
  Kind next_kind(Theme theme) const;
  std::uint64_t lives_of(Random& random) const;
  bool is_inside(std::uint32_t rows) const;
  void count_calls();
  std::string never_stopped_at(const KillCounts& counts) const;

  Round round_{};
  std::optional<Oracle> oracle_;
  bool stopped_in_resize_ = false;  ///< the last writer
  std::uint64_t kills_of_[kThemes][kKinds] = {};
  std::uint64_t inside_[kCalls] = {};  ///< kills while a call of that kind ran, at random and at failpoints
  std::uint64_t snapshots_verified_ = 0, snapshots_kept_ = 0, snapshots_lost_ = 0;
  std::uint64_t single_ = 0,
                inside_single_ = 0;  ///< kills of callers with one key a call, and those while such a call ran
  std::uint64_t inside_large_ = 0;   ///< kills at random while a call of kLargeBatch operations and more ran
  std::uint64_t phased_ = 0;         ///< batches that the killed writers had changed in phases
  std::uint64_t calls_ = 0, operations_ = 0;
  std::uint64_t keys_verified_ = 0;
  std::uint64_t pending_kept_ = 0,
                pending_lost_ = 0;  ///< keys of unacknowledged calls that hold a new or the old state
  std::uint64_t reads_bound_ = 0;   ///< reads of unacknowledged changes that had to survive
  std::uint64_t continued_ = 0;     ///< resizes in which a writer had stopped
  std::uint64_t largest_ = 0;       ///< items in a pool
};

/// The next pool's: of which there were the fewest kills.
Theme TableSubject::next_theme() const {
  const bool on_gpu = options_.on_gpu();
  // A hundred kills on a GPU have to do for all.
  constexpr std::uint64_t kOnCpu[kThemes] = {1, 40, 20, 25, 15, 1, 40}, kOnGpu[kThemes] = {1, 20, 30, 30, 5, 15, 8};
  const std::uint64_t* const weights = on_gpu ? kOnGpu : kOnCpu;
  const auto share = [&](unsigned theme) {
    return std::accumulate(std::begin(kills_of_[theme]), std::end(kills_of_[theme]), std::uint64_t{0}) * 1000 /
           weights[theme];
  };
  unsigned least = 0;
  for (unsigned i = 1; i < kThemes; ++i) {
    const bool phases = static_cast<Theme>(i) == Theme::phases;
    const bool wanted = on_gpu && options_.large ? phases : on_gpu || !phases;
    if (wanted && (least == 0 || share(i) < share(least))) least = i;
  }
  return static_cast<Theme>(least);
}

/// The kind with the fewest kills of this theme, and of those the one with the fewest of all: so a short campaign reaches each kind.
Kind TableSubject::next_kind(Theme theme) const {
  const auto kills = [&](unsigned kind) {
    std::uint64_t of_all = 0;
    for (const auto& of_theme : kills_of_) of_all += of_theme[kind];
    return std::pair{kills_of_[static_cast<unsigned>(theme)][kind], of_all};
  };
  unsigned least = 0;
  for (unsigned kind = 1; kind < kKinds; ++kind) {
    if (kills(kind) < kills(least)) least = kind;
  }
  return static_cast<Kind>(least);
}

std::uint64_t TableSubject::lives_of(Random& random) const {
  if (round_.theme == Theme::calls) return 3 + random.below(4);
  if (round_.theme == Theme::moves || round_.theme == Theme::resizes) return 10 + random.below(10);
  return round_.grows ? 1 + random.below(3) : 4 + random.below(10);
}

std::uint64_t TableSubject::begin_pool(std::uint64_t seed, bool stops, Random& random) {
  const Theme at_random = !options_.large && random.chance(25) ? Theme::calls : Theme::none;
  const Theme theme = stops ? next_theme() : at_random;
  round_ = make_round(seed, options_.large, theme, next_kind(theme));
  oracle_.emplace(round_);
  return lives_of(random);
}

void TableSubject::end_pool() {
  calls_ += oracle_->calls();
  operations_ += oracle_->operations();
  pending_kept_ += oracle_->pending_kept();
  pending_lost_ += oracle_->pending_lost();
  reads_bound_ += oracle_->reads_bound();
  snapshots_verified_ += oracle_->snapshots().verified();
  snapshots_kept_ += oracle_->snapshots().kept();
  snapshots_lost_ += oracle_->snapshots().lost();
}

std::vector<Stop> TableSubject::stops(bool exists) const {
  std::vector<Stop> stops;
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const FailpointFacts& facts = facts_of(static_cast<Failpoint>(i));
    if (facts.theme != round_.theme || !facts.on(round_) || (facts.first_life && exists)) continue;
    stops.push_back({facts.at, kind(), facts.weight, facts.skip_bits});
  }
  return stops;
}

void TableSubject::begin_life(const Stop& stop, Random& random) {
  ours_.round = round_;
  ours_.phased = 0;
  ours_.urged = 0;
  const bool stops = stop.at != Failpoint::none;
  ours_.urge = stops ? urge_to(stop.at, round_.theme) : Urge::none;
  if (stops) ours_.urge_from = static_cast<std::uint32_t>(1 + random.below(6));
  for (Journal& journal : ours_.journal) {
    journal.inside = journal.full = 0;
    journal.number = journal.used = 0;
    journal.rows = 0;
  }
  stopped_in_resize_ = false;
  ++kills_of_[static_cast<unsigned>(round_.theme)][kind()];
}

Pace TableSubject::pace() const {
  const bool slow = round_.large || options_.on_gpu();
  return {.slow = slow,
          .longest_us = slow ? 200'000u : 6'000u,
          .call_bits = round_.large        ? 22u
                       : options_.on_gpu() ? 20u
                                           : 16u,
          .patience_us = slow ? 3'000'000u : 60'000u};
}

bool TableSubject::is_inside(std::uint32_t rows) const {
  return std::any_of(std::begin(ours_.journal), std::end(ours_.journal), [&](const Journal& journal) {
    return journal.inside.load(std::memory_order_acquire) != 0 && journal.rows.load() >= rows;
  });
}

bool TableSubject::is_full() const {
  return std::all_of(ours_.journal, ours_.journal + round_.threads,
                     [](const Journal& journal) { return journal.full.load(std::memory_order_acquire) != 0; });
}

void TableSubject::count_calls() {
  ++inside_[ours_.urged.load(std::memory_order_acquire)];
  for (unsigned thread = 0; thread < round_.threads; ++thread) {
    const Journal& journal = ours_.journal[thread];
    if (journal.inside.load(std::memory_order_acquire) == 0) continue;
    const Plan plan = make_plan(round_, shared_.life, thread, journal.number.load(std::memory_order_acquire));
    ++inside_[static_cast<unsigned>(plan.call)];
    inside_single_ += round_.single && plan.call == Call::batch && plan.indices.size() == 1 ? 1 : 0;
  }
}

std::vector<std::string> TableSubject::replay(bool stopped) {
  count_calls();
  single_ += round_.single ? 1 : 0;
  inside_large_ += is_inside(kLargeBatch) && !stopped ? 1 : 0;
  phased_ += ours_.phased.load(std::memory_order_acquire);
  return oracle_->replay(ours_, shared_.life);
}

std::vector<std::string> TableSubject::verify() {
  const Found& found = ours_.found;
  continued_ += stopped_in_resize_ ? 1 : 0;
  largest_ = std::max(largest_, found.size);
  keys_verified_ += round_.keys;
  std::vector<std::string> wrong = oracle_->verify(found, shared_.recovered.check_errors);
  if (is_resizing(shared_.path)) wrong.emplace_back("a resize was left unfinished");
  const std::string snapshot = snapshot_of(shared_.path);
  if (oracle_->snapshots().is_tidy() && !beside(snapshot).empty())
    wrong.push_back(beside(snapshot).front() + " was left beside a snapshot");
  if (shared_.life % 2 == 0) {  // the next writer replaces it, or finds none
    std::filesystem::remove(snapshot);
    oracle_->snapshots().forget();
  }
  return wrong;
}

/// Where there is room for all, nothing moves and nothing grows any more.
bool TableSubject::has_more() const {
  const std::uint64_t slots = ours_.found.slots;
  return !(round_.theme == Theme::moves && slots > round_.keys + round_.keys / 4) &&
         !(round_.theme == Theme::resizes && slots >= most_slots(round_));
}

std::string TableSubject::about() const {
  return "key_bytes " + std::to_string(round_.key_bytes) + ", value_bytes " + std::to_string(round_.value_bytes);
}

/// Of the failpoints at which writers stop on this device, those at which none did.
std::string TableSubject::never_stopped_at(const KillCounts& counts) const {
  std::string lines;
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const FailpointFacts& facts = facts_of(static_cast<Failpoint>(i));
    const bool phases = facts.theme == Theme::phases;
    if (facts.theme == Theme::none || (phases && !options_.on_gpu())) continue;
    if (options_.large && options_.on_gpu() && !phases) continue;
    if (counts.at[i].all_kills() == 0) lines += std::string("no writer stopped at ") + name_of(facts.at) + "\n";
  }
  return lines;
}

/// With `large` a quarter of the kills at random hit a large batch; on a GPU large batches go in phases; and of 1,000, or of
/// 100 on a GPU, each failpoint, each call about the whole table, and at least 20 slots to repair, moves to finish, and resizes to continue.
std::string TableSubject::lacking(const KillCounts& counts, std::uint64_t planned) const {
  const bool on_gpu = options_.on_gpu();
  if (options_.large) {
    const std::uint64_t random = planned * (100 - options_.stops) / 100;
    return few("kills at random fell inside a large batch", inside_large_, random / 4) +
           few("batches went in phases", phased_, on_gpu ? planned / 4 : 0);
  }
  if (options_.stops == 0 || planned < (on_gpu ? 100 : 1000)) return "";
  constexpr std::uint64_t kEach = 20;
  std::string calls;
  for (unsigned call = 1; call < kCalls; ++call) {
    if (is_whole(static_cast<Call>(call)))
      calls += few(std::string("kills fell inside ") + kNamesOfCalls[call], inside_[call], on_gpu ? 2 : kEach);
  }
  return calls + few("kills fell inside a call with one key", inside_single_, on_gpu ? 2 : kEach) +
         few("snapshots were verified", snapshots_verified_, kEach) +
         few("slots were repaired", counts.mended.repaired, kEach) +
         few("moves were finished", counts.mended.moved, kEach) + few("resizes were continued", continued_, kEach) +
         never_stopped_at(counts);
}

void TableSubject::add_to(Results& results) const {
  if (options_.large) results.add("inside_large_batches", inside_large_);
  if (options_.on_gpu()) results.add("batches_in_phases", phased_);
  Results::Row inside;
  for (unsigned call = 1; call < kCalls; ++call) inside.emplace_back(kNamesOfCalls[call], inside_[call]);
  results.add("inside_by_call", inside);
  results.add("kills_of_callers_with_one_key", single_);
  results.add("inside_calls_with_one_key", inside_single_);
  results.add("snapshots_verified", snapshots_verified_);
  results.add("pending_snapshots_kept", snapshots_kept_);
  results.add("pending_snapshots_lost", snapshots_lost_);
  results.add("calls", calls_);
  results.add("operations", operations_);
  results.add("keys_verified", keys_verified_);
  results.add("pending_kept", pending_kept_);
  results.add("pending_lost", pending_lost_);
  results.add("pending_reads_survived", reads_bound_);
  results.add("continued_resizes", continued_);
  results.add("largest_items", largest_);
}

const RegisterSubject<TableSubject, TableShared> table_subject{{.name = "table", .large = true, .at_root = true}};

}  // namespace

}  // namespace holdfast::proof::kill
