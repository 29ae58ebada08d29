// lifetimes.cpp: what a table's past costs: ten times its capacity that came and went, and growth.
#include <atomic>
#include <thread>
#include <vector>

#include "dramhit/rounds.hpp"
#include "holdfast/error.hpp"
#include "holdfast/memory_table.hpp"

namespace holdfast::bench::dramhit {
namespace {

/// Items that come and go in order, in one table.
class Churn {
 public:
  static constexpr std::size_t kRows = 1 << 16;

  /// Takes items `first` and those after it, as many as fit three quarters.
  Churn(const Setup& setup, std::uint64_t first)
      : operations_(setup.operations),
        items_(setup.items / kRows * kRows),
        first_(first),
        table_({.capacity = setup.items, .threads = setup.threads, .grows = false, .populate = true}) {
    for (std::uint64_t at = 0; at < items_; at += kRows) put(first_ + at);
  }

  std::uint64_t first() const { return first_; }
  std::uint64_t slots() const { return table_.slots(); }

  /// The oldest rows go, new ones come.
  void turn() {
    for (std::size_t r = 0; r < kRows; ++r) keys_[r] = key_of(first_ + r, 3);
    if (table_.erase(keys_.data(), kRows).of(Status::erased) != kRows) throw Error("a key was not erased");
    put(first_ + items_);
    first_ += kRows;
  }

  struct Read {
    double mops, lines;  ///< of an operation
  };
  Read read(std::uint64_t seed) {
    Random random(seed);
    const MemoryStats::Work before = table_.stats().work;
    std::vector<std::uint64_t> out(kRows);
    double seconds = 0;
    std::uint64_t done = 0;
    for (; done < operations_; done += kRows) {
      for (std::size_t r = 0; r < kRows; ++r) keys_[r] = key_of(first_ + random.below(items_), 3);
      const auto start = Clock::now();
      table_.find(keys_.data(), out.data(), kRows);
      seconds += seconds_since(start);
      for (std::size_t r = 0; r < kRows; ++r) {
        if (out[r] != value_of(keys_[r])) throw Error("a value is wrong");
      }
    }
    const MemoryStats::Work after = table_.stats().work;
    return {static_cast<double>(done) / seconds / 1e6, static_cast<double>(after.lines - before.lines) /
                                                           static_cast<double>(after.operations - before.operations)};
  }

 private:
  void put(std::uint64_t first) {
    for (std::size_t r = 0; r < kRows; ++r) values_[r] = value_of(keys_[r] = key_of(first + r, 3));
    if (table_.insert(keys_.data(), values_.data(), kRows).of(Status::inserted) != kRows) {
      throw Error("a key found no slot");
    }
  }

  const std::uint64_t operations_, items_;
  std::uint64_t first_;
  MemoryTable table_;
  std::vector<std::uint64_t> keys_ = std::vector<std::uint64_t>(kRows), values_ = std::vector<std::uint64_t>(kRows);
};

/// Get in a table in which ten times its capacity came and went, and in one that was just filled with what is left: in turns, since
/// a machine may be another minutes later.
Json study_churn(const Setup& setup) {
  constexpr unsigned kTurns = 5;
  std::vector<double> fresh, churned, slower, fresh_lines, churned_lines;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    progress("churn: filling, repetition " + std::to_string(i + 1));
    Churn old(setup, 0);
    const std::uint64_t turns = old.slots() * 10 / Churn::kRows;
    for (std::uint64_t t = 0; t < turns; ++t) {
      if (t % (turns / 10 + 1) == 0) progress("churn: " + std::to_string(t * 100 / turns) + "% have come and gone");
      old.turn();
    }
    Churn young(setup, old.first());
    for (unsigned turn = 0; turn < kTurns; ++turn) {
      const Churn::Read now = young.read(turn + 1), then = old.read(turn + 1);
      fresh.push_back(now.mops);
      churned.push_back(then.mops);
      slower.push_back(100 * (1 - then.mops / now.mops));
      fresh_lines.push_back(now.lines);
      churned_lines.push_back(then.lines);
    }
  }
  return {{"items", setup.items},
          {"threads", setup.threads},
          {"fresh_mops", spread(fresh)},
          {"churned_mops", spread(churned)},
          {"fresh_lines", spread(fresh_lines)},
          {"churned_lines", spread(churned_lines)},
          {"slower_percent", spread(slower)}};
}
const Study kChurn("churn", study_churn);

/// A table that grows beside one made large, and get meanwhile.
Json study_growth(const Setup& setup) {
  std::vector<double> grown, made, gets_still, gets_meanwhile;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    const auto load = [&](MemoryTable& table) {
      constexpr std::size_t kRows = 1 << 16;
      const auto start = Clock::now();
      together(setup.threads, [&](unsigned t) {
        std::vector<std::uint64_t> keys(kRows), values(kRows);
        for (std::uint64_t at = t * kRows; at + kRows <= setup.items; at += kRows * setup.threads) {
          for (std::size_t r = 0; r < kRows; ++r) values[r] = value_of(keys[r] = key_of(at + r, 3));
          table.insert(keys.data(), values.data(), kRows);
        }
      });
      return seconds_since(start);
    };
    progress("growth: from few slots, repetition " + std::to_string(i + 1));
    std::uint64_t size = 0;
    {
      MemoryTable growing({.capacity = 786'432, .threads = 1});
      grown.push_back(load(growing));
      size = growing.size();
    }
    progress("growth: made large");
    MemoryTable large({.capacity = setup.items, .threads = 1});
    made.push_back(load(large));
    if (size != large.size()) throw Error("growth lost items");
    // One thread reads, without others, and while another makes the table grow.
    std::atomic<bool> stop{false};
    const auto read = [&](auto until) {
      Random random(7);
      std::vector<std::uint64_t> keys(4096), out(4096);
      std::uint64_t done = 0;
      double seconds = 0;
      while (!until(done)) {
        for (std::uint64_t& key : keys) key = key_of(random.below(large.size() / 2), 3);
        const auto start = Clock::now();
        large.find(keys.data(), out.data(), keys.size());
        seconds += seconds_since(start);
        for (std::size_t r = 0; r < keys.size(); ++r) {
          if (out[r] != value_of(keys[r])) throw Error("a value is wrong");
        }
        done += keys.size();
      }
      return static_cast<double>(done) / seconds / 1e6;
    };
    gets_still.push_back(read([&](std::uint64_t done) { return done >= setup.operations / 4; }));
    progress("growth: while one reads");
    std::thread grower([&] {
      large.reserve(setup.items * 2);
      stop = true;
    });
    gets_meanwhile.push_back(read([&](std::uint64_t) { return stop.load(); }));
    grower.join();
  }
  return {{"items", setup.items},
          {"threads", setup.threads},
          {"grown_seconds", spread(grown)},
          {"made_seconds", spread(made)},
          {"over_made", spread(ratio_of(grown, made))},
          {"get_mops", spread(gets_still)},
          {"get_meanwhile_mops", spread(gets_meanwhile)},
          {"get_kept", spread(ratio_of(gets_meanwhile, gets_still))}};
}
const Study kGrowth("growth", study_growth);

}  // namespace
}  // namespace holdfast::bench::dramhit
