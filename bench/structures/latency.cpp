// latency.cpp: the studies of latency: Figures 2, 5 and 8a, and by the added delay. Every scheme of a row is measured in turn, run by run.
#include <cmath>
#include <map>

#include "frame/json.hpp"
#include "holdfast/error.hpp"
#include "structures/originals/library.hpp"
#include "structures/workload.hpp"

namespace holdfast::bench::structures {
namespace {

/// How flushes are emulated in a row.
struct Flushing {
  const char* instruction;
  pool::FlushKind kind;
  double delay_ns;
};
constexpr Flushing kFlushings[] = {{"clflush", pool::FlushKind::clflush, 0},
                                   {"clflush", pool::FlushKind::clflush, 300},
                                   {"clwb", pool::FlushKind::clwb, 0},
                                   {"clwb", pool::FlushKind::clwb, 300}};
constexpr Flushing kPaper = {"clflush", pool::FlushKind::clflush, 300};

using Figures = std::map<std::string, std::vector<double>>;  // by operation

/// Tables of one workload, filled, that are measured in turn.
class Turns {
 public:
  Turns(const std::vector<std::string>& schemes, Plan plan, Workload& workload) : workload_(workload) {
    for (const std::string& scheme : schemes) {
      progress(workload.trace().name + ": filling " + scheme + " with " + std::to_string(workload.items()));
      add(scheme, scheme, plan);
    }
  }
  explicit Turns(Workload& workload) : workload_(workload) {}

  void add(const std::string& name, const std::string& scheme, const Plan& plan) {
    add(name, timed_subject(scheme, plan, emulation_));
  }
  void add(const HoldfastOriginal& original, const Plan& plan) {
    add(original.name, original_subject(original, plan, emulation_));
  }
  /// A run of every table: nanoseconds for each, by operation.
  void run(const Flushing& flushing, std::map<std::string, Figures>& figures) {
    workload_.begin_run();
    emulation_.persist = {flushing.kind};
    emulation_.ticks = Delay::calibrated().ticks(flushing.delay_ns);
    for (Measured& table : tables_) {
      for (const char* const operation : kOperations) {
        figures[table.scheme][operation].push_back(workload_.run(table, operation));
      }
    }
    emulation_ = {};
    workload_.end_run();
  }
  const std::vector<Measured>& tables() const { return tables_; }

 private:
  void add(const std::string& name, std::unique_ptr<Subject> table) {
    tables_.push_back({name, std::move(table)});
    workload_.fill(tables_.back());
  }

  Workload& workload_;
  Emulation emulation_;
  std::vector<Measured> tables_;
};

Plan plan_of(const Trace& trace, const Setup& setup) {
  return {.item_bytes = trace.item_bytes, .bits = trace.bits, .pool = setup.pool};
}

/// Median and range, with a decimal below a thousand and without the repetitions: a row has to fit into one line of a result file.
Json brief(std::vector<double> ns) {
  for (double& one : ns) one = one < 1000 ? std::round(one * 10) / 10 : std::round(one);
  const Spread spread = spread_of(std::move(ns));
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

/// The rows of tables in one way of flushing, and how much slower than group hashing each is: the median of the runs' ratios.
void add_rows(Json& rows, const Turns& turns, const std::map<std::string, Figures>& figures, const Json& about) {
  const auto group = figures.find("group");
  for (const Measured& table : turns.tables()) {
    Json row = about;
    row["scheme"] = table.scheme;
    if (table.refusals != 0) row["refused"] = table.refusals;
    for (const auto& [operation, values] : figures.at(table.scheme)) row[operation + "_ns"] = brief(values);
    if (group != figures.end() && table.scheme != "group") {
      for (const auto& [operation, values] : figures.at(table.scheme)) {
        const double ratio = spread_of(ratio_of(values, group->second.at(operation))).median;
        row[operation + "_over_group"] = std::round(ratio * 1000) / 1000;
      }
    }
    rows.push_back(row);
  }
}

Json described(Json rows, const Setup& setup) {
  return {{"emulated", true},
          {"delay_300_is_ns", rounded(Delay::calibrated().measured(300))},
          {"operations", setup.operations},
          {"runs", setup.runs},
          {"rows", std::move(rows)}};
}

/// Figures 2a and 5: every trace, load factor and way of flushing.
Json study_latency(const Setup& setup) {
  Json rows = Json::array(), sources = Json::object();
  for (const std::string& name : setup.traces) {
    for (const double load : setup.loads) {
      Workload workload(trace_named(name, setup), load, setup.operations, setup);
      sources[name] = workload.trace().source;
      Turns turns(schemes_of(setup), plan_of(workload.trace(), setup), workload);
      std::map<std::string, Figures> figures[std::size(kFlushings)];
      for (unsigned run = 0; run < setup.runs; ++run) {
        progress(name + ", load " + std::to_string(load) + ": run " + std::to_string(run + 1));
        for (std::size_t i = 0; i < std::size(kFlushings); ++i) turns.run(kFlushings[i], figures[i]);
      }
      for (std::size_t i = 0; i < std::size(kFlushings); ++i) {
        const Flushing& how = kFlushings[i];
        add_rows(rows, turns, figures[i],
                 {{"trace", name}, {"load", load}, {"flush", how.instruction}, {"delay_ns", how.delay_ns}});
      }
    }
  }
  Json result = described(rows, setup);
  result["sources"] = sources;
  return result;
}
const Study kLatency("latency", study_latency);

/// By the delay that is added after each flush.
Json study_delay(const Setup& setup) {
  Json rows = Json::array();
  Workload workload(trace_named("random", setup), 0.5, setup.operations, setup);
  Turns turns(schemes_of(setup), plan_of(workload.trace(), setup), workload);
  for (unsigned ns = 0; ns <= 600; ns += 100) {
    std::map<std::string, Figures> figures;
    progress("delay " + std::to_string(ns));
    const Flushing how{"clflush", pool::FlushKind::clflush, static_cast<double>(ns)};
    for (unsigned run = 0; run < setup.runs; ++run) turns.run(how, figures);
    add_rows(rows, turns, figures, {{"delay_ns", ns}});
  }
  return described(rows, setup);
}
const Study kDelay("delay", study_delay);

/// Figure 8a: by the cells of a group.
Json study_groups(const Setup& setup) {
  Json rows = Json::array();
  Workload workload(trace_named("random", setup), 0.5, setup.operations, setup);
  Turns turns(workload);
  for (unsigned cells = 64; cells <= 1024; cells *= 2) {
    Plan plan = plan_of(workload.trace(), setup);
    plan.group_size = cells;
    progress("groups of " + std::to_string(cells));
    turns.add(std::to_string(cells), "group", plan);
  }
  std::map<std::string, Figures> figures;
  for (unsigned run = 0; run < setup.runs; ++run) turns.run(kPaper, figures);
  add_rows(rows, turns, figures, {{"load", 0.5}, {"flush", kPaper.instruction}, {"delay_ns", kPaper.delay_ns}});
  for (Json& row : rows) {
    row["group_size"] = std::stoul(row["scheme"].get<std::string>());
    row["scheme"] = "group";
  }
  return described(rows, setup);
}
const Study kGroups("groups", study_groups);

/// The published code of other tables, in shared libraries (originals/original.hpp), and ours. RandomNum, load factor 0.5.
Json study_originals(const Setup& setup) {
  if (setup.originals.empty()) {
    throw InvalidArgument("the study originals has no table to measure with ours: name libraries with --originals");
  }
  Json peers = Json::array(), rows = Json::array();
  const std::vector<const HoldfastOriginal*> originals = load_originals(setup, peers);
  Workload workload(trace_named("random", setup), 0.5, setup.operations, setup);
  const Plan plan = plan_of(workload.trace(), setup);
  Turns turns(schemes_of(setup), plan, workload);
  for (const HoldfastOriginal* const original : originals) {
    progress(std::string("filling ") + original->name);
    turns.add(*original, plan);
  }
  const Flushing flushings[] = {kFlushings[0], kPaper};
  std::map<std::string, Figures> figures[std::size(flushings)];
  for (unsigned run = 0; run < setup.runs; ++run) {
    progress("originals: run " + std::to_string(run + 1));
    for (std::size_t i = 0; i < std::size(flushings); ++i) turns.run(flushings[i], figures[i]);
  }
  for (std::size_t i = 0; i < std::size(flushings); ++i) {
    add_rows(rows, turns, figures[i], {{"flush", flushings[i].instruction}, {"delay_ns", flushings[i].delay_ns}});
  }
  Json cells = Json::object();
  for (const Measured& table : turns.tables()) cells[table.scheme] = table.table->cells();
  Json result = described(rows, setup);
  result["peers"] = peers;
  result["items"] = workload.items();
  result["cells"] = cells;
  return result;
}
const Study kOriginals("originals", study_originals,
                       false);  // not listed: without libraries there is nothing to measure

}  // namespace
}  // namespace holdfast::bench::structures
