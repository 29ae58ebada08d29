// subject.cpp: the subject store: what may be of each key after a kill, and what was found of it.
#include "proof/kill/registry.hpp"
#include "shared.hpp"

namespace holdfast::proof::kill {
namespace {

constexpr Stop kStoreStops[] = {
    {Failpoint::pool_unnamed, kStoreMaking},
    {Failpoint::directories_zeroed, kStoreMaking},
    {Failpoint::item_vacated, kStoreSet, 1, 4},
    {Failpoint::item_filled, kStoreSet, 2, 4},
    {Failpoint::item_committed, kStoreSet, 3, 4},
    {Failpoint::item_exchanged, kStoreSet, 4, 4},
    {Failpoint::item_killed, kStoreSet, 2, 4},
    {Failpoint::numbers_reserved, kStoreSet},
    {Failpoint::time_kept, kStoreSet},
    {Failpoint::item_filled, kStoreChange, 1, 4},
    {Failpoint::item_committed, kStoreChange, 2, 4},
    {Failpoint::item_exchanged, kStoreChange, 2, 4},
    {Failpoint::item_killed, kStoreChange, 1, 4},
    {Failpoint::item_committed, kStoreBatch, 2, 6},
    {Failpoint::item_exchanged, kStoreBatch, 2, 6},
    {Failpoint::item_killed, kStoreBatch, 2, 6},
    {Failpoint::piece_half_zeroed, kStoreBatch},
    {Failpoint::piece_zeroed, kStoreBatch},
    {Failpoint::piece_entered, kStoreBatch},
    {Failpoint::heap_allocated, kStoreSet},
    {Failpoint::directory_written, kStoreSet},
    {Failpoint::copy_half_written, kStoreSet},
    {Failpoint::item_killed, kStoreErase, 2, 3},
    {Failpoint::state_replaced, kStoreTouch, 1, 3},
    {Failpoint::flush_half_written, kStoreFlush, 2},
    {Failpoint::items_flushed, kStoreFlush, 2},
    {Failpoint::flush_planned, kStoreFlush, 2},
    {Failpoint::item_killed, kStoreReclaim},
};

/// Whether a call passes it in every pool, and often: those of growth need a life in which the heap grows.
constexpr bool comes_in_any_pool(Failpoint at) {
  switch (at) {
    case Failpoint::piece_half_zeroed:
    case Failpoint::piece_zeroed:
    case Failpoint::piece_entered:
    case Failpoint::heap_allocated:
    case Failpoint::directory_written:
    case Failpoint::copy_half_written: return false;
    default: return true;
  }
}

class StoreSubject : public SubjectOfCalls {
 public:
  StoreSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<StoreShared>().calls, kStoreCalls, kStoreStops) {}

  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    constexpr StoreUseOf kUses[] = {StoreUseOf::all_stays, StoreUseOf::all_stays, StoreUseOf::flushes,
                                    StoreUseOf::flushes, StoreUseOf::evicts};
    round_ = {};
    round_.use = kUses[random.below(std::size(kUses))];
    round_.flush = random.chance(50) ? 1 : 0;
    round_.seed = seed | 1;
    std::fill_n(ours_.known, kStoreKeys, StoreState{});
    std::fill_n(ours_.highest, kStoreKeys, 0);
    std::fill_n(ours_.base, kStoreCounters, 0);
    ours_.floor = 0;
    ours_.clock = ours_.flush_begun = ours_.flush_ended = ours_.planned = 0;
    return 4 + random.below(10);
  }
  /// Those that a store of its kind passes.
  std::vector<Stop> stops(bool exists) const override {
    std::vector<Stop> some = SubjectOfCalls::stops(exists);
    std::erase_if(some,
                  [&](const Stop& stop) { return stop.kind == kStoreFlush && round_.use != StoreUseOf::flushes; });
    return some;
  }
  RecoveryFailpoints mended_at(Failpoint at) const override {
    const bool leaves_two = at == Failpoint::item_committed || at == Failpoint::item_exchanged;
    return leaves_two ? list({Failpoint::item_killed}) : RecoveryFailpoints{};
  }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    const bool moves = !comes_in_any_pool(stop.at) || round_.use == StoreUseOf::evicts;
    round_.large_bytes = static_cast<std::uint32_t>(100 + random.below(moves               ? 100'000
                                                                       : random.chance(50) ? 3'000
                                                                                           : 30'000));
    if (stop.at == Failpoint::numbers_reserved || !comes_in_any_pool(stop.at)) ours_.calls.stop_from = 0;
    constexpr StoreAccessBy kAccess[] = {StoreAccessBy::calls, StoreAccessBy::calls, StoreAccessBy::pipeline,
                                         StoreAccessBy::staged};
    round_.access = kAccess[random.below(std::size(kAccess))];
    round_.index = choose_index(random);
    round_.recovers_index = choose_index(random);
    round_.index_calls = random.chance(30) ? static_cast<std::int64_t>(random.below(2'000)) : -1;
    ours_.round = round_;
    ours_.flush_runs = 0;
    for (StorePending& pending : ours_.pending) pending.stage = pending.rows = 0;
    for (auto& of_thread : ours_.counts) {
      for (StoreCount& count : of_thread) count.sum = count.to = count.ended = 0;
    }
  }
  Pace pace() const override {
    const bool slow = options_.on_gpu();
    return {.slow = slow,
            .longest_us = slow ? 100'000u : 30'000u,
            .call_bits = slow ? 16u : 14u,
            .patience_us = slow ? 5'000'000u : 1'500'000u};
  }

  std::vector<std::string> replay(bool) override {
    std::uint32_t call = kStoreBetween;
    for (StorePending& pending : ours_.pending) {
      const std::uint32_t stage = pending.stage.load();
      if (stage == 1) call = std::min(call, pending.call);
      for (std::uint32_t i = 0; stage == 2 && i < pending.rows; ++i)
        ours_.known[pending.row[i].key] = pending.row[i].result;
    }
    ended_in(call);
    return {};
  }
  void forget_found() override {
    ours_.found_store = ours_.found_size = ours_.found_visits = ours_.foreign = 0;
    std::fill_n(ours_.found, kStoreKeys, StoreFound{});
    std::fill_n(ours_.found_count, kStoreCounters, 0);
  }

  std::vector<std::string> verify() override {
    if (shared_.recovered.check_errors[0] != 0) return {shared_.recovered.check_errors};
    if (ours_.found_store == 0)
      return kind() == kStoreMaking ? std::vector<std::string>{} : std::vector{std::string("it is gone")};
    if (ours_.foreign != 0)
      return {std::to_string(ours_.foreign) + " items are torn, foreign or not found by their key"};
    if (ours_.found_visits > ours_.found_size)
      return {std::to_string(ours_.found_visits) + " items were visited, and its size is " +
              std::to_string(ours_.found_size)};
    if (std::string what = flushed_in_part(); !what.empty()) return {what};
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t key = 0; key < kStoreKeys; ++key) {
      if (std::string what = verify_key(key); !what.empty()) return {"key " + std::to_string(key) + ": " + what};
      const StoreState& known = ours_.known[key];
      if (known.digest != 0 && known.cas == 0) numbers.push_back(known.number);
    }
    std::sort(numbers.begin(), numbers.end());
    if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) return {"two keys have one number"};
    if (!numbers.empty()) ours_.floor = std::max(ours_.floor, numbers.back());
    for (unsigned counter = 0; counter < kStoreCounters; ++counter) {
      if (!adopt_count(counter)) {
        return {"counter " + std::to_string(counter) + " is " + std::to_string(ours_.found_count[counter]) +
                ", and its increments add up to another number"};
      }
    }
    ++verified_;
    behind_pipeline_ += round_.access != StoreAccessBy::calls ? 1 : 0;
    on_gpu_ += round_.index == StoreIndexOn::gpu ? 1 : 0;
    return {};
  }

  std::string about() const override {
    constexpr const char* kUses[] = {"all stays", "flushed at times", "evicting"};
    constexpr const char* kAccess[] = {"", ", through a pipeline", ", through a staged pipeline"};
    return std::string(kUses[static_cast<unsigned>(round_.use)]) + (round_.flush != 0 ? ", domain power" : "") +
           kAccess[static_cast<unsigned>(round_.access)] + index_name() + ", values up to " +
           std::to_string(round_.large_bytes) + " bytes, killed in " + kind_name();
  }
  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override {
    std::string lines = few("stores were verified", verified_, planned / 2);
    if (planned >= 40) {
      lines += few("lives behind a pipeline were verified", behind_pipeline_, planned / 10);
      if (kStandsIn || options_.on_gpu()) {
        lines += few("lives with an index of batches were verified", on_gpu_, planned / 10);
      }
    }
    if (options_.stops == 0 || planned < 200) return lines;
    for (const Stop& stop : kStoreStops) {
      if (!comes_in_any_pool(stop.at) || counts.at[static_cast<unsigned>(stop.at)].kills[stop.kind] != 0) continue;
      lines += std::string("no writer stopped at ") + name_of(stop.at) + " in " + kStoreCalls[stop.kind] + "\n";
    }
    return lines + few("unacknowledged changes were kept", kept_, 5) +
           few("unacknowledged changes were lost", lost_, 5) +
           few("items whose replacement was interrupted were killed", counts.mended.moved, 5);
  }
  void add_to(Results& results) const override {
    results.add("stores_verified", verified_);
    results.add("lives_behind_a_pipeline", behind_pipeline_);
    results.add(kStandsIn ? "lives_with_an_index_of_batches" : "lives_with_the_index_on_a_gpu", on_gpu_);
    results.add("items_verified", items_);
    results.add("pending_changes_kept", kept_);
    results.add("pending_changes_lost", lost_);
  }

 protected:
  std::uint64_t first_stop(Random& random) const override { return 1 + random.below(random.chance(50) ? 50 : 1'500); }

 private:
  /// On a GPU if the campaign runs on one; in builds without CUDA, at times a stand-in for it.
  StoreIndexOn choose_index(Random& random) const {
    const unsigned percent = options_.on_gpu() ? 80 : kStandsIn ? 30 : 0;
    return random.chance(percent) ? StoreIndexOn::gpu : StoreIndexOn::cpu;
  }
  std::string index_name() const {
    const auto of = [](StoreIndexOn index) { return index == StoreIndexOn::gpu ? "batches" : "the CPU"; };
    return std::string(", index of ") + of(round_.index) + ", reopened with one of " + of(round_.recovers_index);
  }

  bool is_gone(const StoreState& found) const { return found.digest == 0; }

  /// Whether what was found of a key may come from this state.
  bool explains(const StoreState& state, const StoreState& found, std::uint64_t highest) const {
    if (is_gone(found)) return ours_.may_be_gone(state, ours_.now_after);
    return !StoreShared::must_be_gone(state, ours_.now_before, ours_.flush_begun.load()) &&
           is_item_of(found, state, highest);
  }

  std::string verify_key(std::uint64_t key) {
    const StoreFound& found = ours_.found[key];
    StoreState& known = ours_.known[key];
    std::vector<StoreState> may_be;
    for (const StorePending& pending : ours_.pending) {
      if (pending.stage.load() != 1) continue;
      for (std::uint32_t i = 0; i < pending.rows; ++i) {
        const StoreRow& row = pending.row[i];
        if (row.key != key) continue;
        if (may_be.empty()) may_be.push_back(row.before);
        const bool was_there = row.before.digest != 0;
        const bool may = row.when == 0 || (row.when == 2 ? was_there : ours_.may_be_gone(row.before, ours_.now_after));
        if (may) may_be.push_back(row.after);
      }
    }
    const bool is_pending = !may_be.empty();
    if (!is_pending) may_be.push_back(known);
    const auto which = std::find_if(may_be.begin(), may_be.end(), [&](const StoreState& state) {
      return explains(state, found.state, ours_.highest[key]);
    });
    if (which == may_be.end()) {
      if (is_gone(found.state)) return "it is absent, and nothing removed it";
      return "it has an item that no acknowledged call gave it, or one that must be gone";
    }
    if (found.visits > 1 || (!is_gone(found.state) && found.state.expiry == 0 && found.visits == 0))
      return "it was visited " + std::to_string(found.visits) + " times";
    if (is_pending) ++(which == may_be.begin() ? lost_ : kept_);
    items_ += is_gone(found.state) ? 0 : 1;
    const std::uint64_t cas = which->cas;
    known = found.state;
    known.cas = is_gone(found.state) ? 0 : cas;
    if (known.cas != 0) known.number = 0;
    known.begun = known.ended = ours_.clock.fetch_add(1) + 1;
    ours_.highest[key] = std::max(ours_.highest[key], known.number);
    return {};
  }

  /// A flush that was not acknowledged has removed all that was there before, or nothing.
  std::string flushed_in_part() const {
    const StorePending& pending = ours_.pending[0];
    if (pending.stage.load() != 1 || pending.call != kStoreFlush) return {};
    std::uint64_t there = 0, gone = 0;
    for (std::uint64_t key = 0; key < kStoreKeys; ++key) {
      const StoreState& known = ours_.known[key];
      const bool changes =
          std::any_of(std::begin(ours_.pending), std::end(ours_.pending), [&](const StorePending& one) {
            return std::any_of(one.row, one.row + one.rows, [&](const StoreRow& row) { return row.key == key; });
          });
      if (changes || known.digest == 0 || known.expiry != 0 || known.ended >= ours_.flush_runs.load()) continue;
      if (StoreShared::must_be_gone(known, 0, ours_.flush_begun.load()) || ours_.flush_ended.load() > known.begun)
        continue;
      ++(is_gone(ours_.found[key].state) ? gone : there);
    }
    if (there == 0 || gone == 0) return {};
    return "a flush has removed " + std::to_string(gone) + " items and left " + std::to_string(there);
  }

  /// What was found of a counter is the sum of what was acknowledged, and of some of what was not.
  bool adopt_count(unsigned counter) {
    std::vector<std::uint64_t> sums{ours_.base[counter]};
    for (const auto& of_thread : ours_.counts) {
      const StoreCount& count = of_thread[counter];
      const std::uint64_t to = count.to.load();
      const bool ended = to != 0 && count.ended.load() != 0;
      const std::size_t before = sums.size();
      for (std::size_t i = 0; i < before; ++i) {
        const std::uint64_t sum = sums[i];
        sums[i] += ended ? to : count.sum;
        if (to != 0 && !ended && to != count.sum) sums.push_back(sum + to);
      }
    }
    ours_.base[counter] = ours_.found_count[counter];
    return std::find(sums.begin(), sums.end(), ours_.base[counter]) != sums.end();
  }

  StoreShared& ours_ = shared_.part<StoreShared>();
  StoreRound round_ = {};
  std::uint64_t verified_ = 0, behind_pipeline_ = 0, on_gpu_ = 0, items_ = 0, kept_ = 0, lost_ = 0;
};

const RegisterSubject<StoreSubject, StoreShared> store_subject{{.name = "store", .share = 25}};

}  // namespace
}  // namespace holdfast::proof::kill
