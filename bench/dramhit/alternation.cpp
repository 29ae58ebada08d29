// alternation.cpp: one operation after another, each in eight turns of all tables.
#include "dramhit/alternation.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::bench::dramhit {
namespace {

constexpr std::size_t kRows = 16384;  ///< of a round of one thread
constexpr unsigned kRounds = 8;

const char* name_of(Ask kind) {
  switch (kind) {
    case Ask::put_new: return "put_new";
    case Ask::absent: return "absent";
    case Ask::put: return "put";
    case Ask::upsert: return "upsert";
    default: return "get";
  }
}

/// What several turns took together.
struct Sum {
  double operations = 0, seconds = 0;
  std::map<std::string, double> counted;

  void add(double done, double mops) {
    operations += done;
    seconds += done / mops;
  }
};

}  // namespace

Json spreads(const Figures& figures) {
  Json json = Json::object();
  for (const auto& [name, values] : figures) json[name] = spread(values);
  return json;
}

void ratio(Figures& figures, const std::string& name, const std::string& above, const std::string& below) {
  figures[name] = ratio_of(figures.at(above), figures.at(below));
}

Limit::Limit(std::uint64_t bytes, const Setup& setup) : threads_(setup.threads), lines_(bytes, setup.threads, true) {}

double Limit::measure(bool changes, std::uint64_t operations) {
  const std::uint64_t each = operations / threads_;
  if (depth_[changes] == 0) depth_[changes] = lines_.best_depth(changes, each);
  return lines_.rate(changes, each, depth_[changes]) / 1e6;
}

Alternation::Alternation(const std::vector<std::string>& names, std::uint64_t items, const Setup& setup, Limit* limit)
    : setup_(setup),
      part_(std::max<std::uint64_t>(1, items / (kRounds * kRows * setup.threads)) * kRows * setup.threads),
      limit_(limit) {
  for (const std::string& name : names) tables_.push_back({name, subject(name, items, setup)});
}

void Alternation::fill(Figures& figures) { ask(Ask::put_new, part_ * kRounds, figures); }

void Alternation::ask(Ask kind, std::uint64_t operations, Figures& figures, const Manner& manner) {
  const std::string what = name_of(kind) + std::string(manner.theta != 0 ? "_zipfian" : "");
  progress(what);
  std::optional<Distribution> zipfian;
  if (manner.theta != 0) zipfian.emplace(Popularity::zipfian, part_ * kRounds, manner.theta);
  std::map<std::string, Sum> sums;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> before;
  for (const Table& table : tables_) before.emplace_back(table.subject->lines(), table.subject->operations());
  const std::uint64_t each = operations / kRounds;
  const bool changes = kind != Ask::get && kind != Ask::absent;
  for (unsigned round = 0; round < kRounds; ++round) {
    Asked asked;
    asked.ask = kind;
    asked.items = part_ * kRounds;
    asked.first = part_ * round;
    asked.seed = ++seeds_;
    asked.distribution = zipfian ? &*zipfian : nullptr;
    if (limit_ != nullptr) {
      sums[what + "_limit"].add(static_cast<double>(each), limit_->measure(changes, each));
    }
    for (const Table& table : tables_) {
      if (kind == Ask::upsert && !table.subject->adds()) continue;
      asked.silent = changes && (manner.silent || table.subject->is_silent());
      const Measured measured = dramhit::ask(*table.subject, asked, each, setup_.threads, kRows);
      Sum& sum = sums[table.name + "_" + what];
      sum.add(static_cast<double>(each), measured.mops);
      for (const auto& [counter, count] : measured.counted) sum.counted[counter] += count / kRounds;
    }
  }
  for (const auto& [name, sum] : sums) {
    figures[name].push_back(sum.operations / sum.seconds);
    for (const auto& [counter, count] : sum.counted) figures[name + "_" + counter].push_back(count);
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const std::uint64_t done = tables_[i].subject->operations() - before[i].second;
    if (done == 0) continue;
    const auto lines = static_cast<double>(tables_[i].subject->lines() - before[i].first);
    figures[tables_[i].name + "_" + what + "_lines"].push_back(lines / static_cast<double>(done));
  }
}

}  // namespace holdfast::bench::dramhit
