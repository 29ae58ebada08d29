// table_studies.cpp: tables by threads, batch, skew, mix, form, and what else is in the caches. DRAMHiT §4.2, §4.3.
#include <algorithm>
#include <optional>

#include "dramhit/rounds.hpp"
#include "dramhit/worker.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::uint64_t kSmallItems = 786'000;  // 16 MiB of slots, three quarters full

double rate(Subject& table, Ask kind, std::uint64_t items, const Setup& setup, unsigned threads,
            const Asked& more = {}) {
  Asked asked = more;
  asked.ask = kind;
  asked.items = items - items / 16;
  const bool changes = kind != Ask::get && kind != Ask::absent;
  return ask(table, asked, setup.operations, changes ? table.changers(threads) : threads).mops;
}

/// Fills a table; M operations a second.
double fill(Subject& table, std::uint64_t items, unsigned threads) {
  Asked asked;
  asked.silent = table.is_silent();
  asked.ask = Ask::put_new;
  const std::size_t rows = std::min<std::size_t>(16384, items / threads / 16);
  return ask(table, asked, items, table.changers(threads), rows).mops;
}

std::string said(const char* study, const std::string& form, std::uint64_t items) {
  return std::string(study) + ": " + form + ", " + std::to_string(items) + " items";
}

std::vector<std::string> forms(const Setup& setup) {
  if (!setup.part.empty()) return {setup.part};
  return {"dramhit", "dramhit-p", "folklore"};
}

/// Figure 6: put and get by threads.
Json study_threads(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t items : {kSmallItems, setup.items}) {
    for (const std::string& name : forms(setup)) {
      for (unsigned threads = 1; threads <= setup.threads; threads *= 2) {
        progress(said("threads", name, items) + ", " + std::to_string(threads) + " threads");
        std::vector<double> puts, gets;
        for (unsigned i = 0; i < setup.repetitions; ++i) {
          Setup here = setup;
          here.threads = threads;
          const auto table = subject(name, items, here);
          puts.push_back(fill(*table, items, threads));
          gets.push_back(rate(*table, Ask::get, items, setup, threads));
        }
        runs.push_back({{"form", name},
                        {"items", items},
                        {"threads", threads},
                        {"put_mops", spread(puts)},
                        {"get_mops", spread(gets)}});
      }
    }
  }
  return {{"runs", runs}};
}
const Study kThreads("threads", study_threads);

/// Figure 7: by the size of the batch.
Json study_batches(const Setup& setup) {
  Json runs = Json::array();
  for (const std::string& name : forms(setup)) {
    progress(said("batches", name, setup.items));
    const auto table = subject(name, setup.items, setup);
    fill(*table, setup.items, setup.threads);
    for (const std::size_t batch : {1, 2, 4, 8, 16, 64, 1024}) {
      std::vector<double> gets, upserts;
      Asked asked;
      asked.batch = batch;
      asked.silent = name == "dramhit-p";
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        upserts.push_back(rate(*table, Ask::upsert, setup.items, setup, setup.threads, asked));
        Asked read = asked;
        read.silent = false;
        gets.push_back(rate(*table, Ask::get, setup.items, setup, setup.threads, read));
      }
      runs.push_back({{"form", name}, {"batch", batch}, {"get_mops", spread(gets)}, {"upsert_mops", spread(upserts)}});
    }
  }
  return {{"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
}
const Study kBatches("batches", study_batches);

/// What one table did at one skew, by the names of its figures.
struct SkewedRun {
  std::string form;
  std::map<std::string, std::vector<double>> figures;

  double median() const { return spread_of(figures.at("upsert_mops")).median; }
};

/// Upserts of the best of our forms, that of the highest median, over Folklore's; none where one of them was not asked.
std::optional<double> best_over_folklore(const std::vector<SkewedRun>& runs) {
  const SkewedRun *best = nullptr, *folklore = nullptr;
  for (const SkewedRun& run : runs) {
    if (run.form == "folklore") {
      folklore = &run;
    } else if (best == nullptr || run.median() > best->median()) {
      best = &run;
    }
  }
  if (best == nullptr || folklore == nullptr) return std::nullopt;
  return spread_of(ratio_of(best->figures.at("upsert_mops"), folklore->figures.at("upsert_mops"))).median;
}

/// Figure 8: by skew, and mixed with reads; all tables in turns.
Json study_skew(const Setup& setup) {
  Json runs = Json::array(), best = Json::array();
  for (const std::uint64_t items : {kSmallItems, setup.items}) {
    std::vector<std::unique_ptr<Subject>> tables;
    for (const std::string& name : forms(setup)) {
      progress(said("skew", name, items));
      tables.push_back(subject(name, items, setup));
      fill(*tables.back(), items, setup.threads);
    }
    for (const double theta : {0.0, 0.4, 0.8, 0.99, 1.09, 1.2}) {
      progress("skew: theta " + std::to_string(theta));
      const std::uint64_t drawn = items - items / 16;
      const Distribution zipfian(Popularity::zipfian, drawn, theta == 0 ? 0.99 : theta);
      Asked asked;
      asked.distribution = theta == 0 ? nullptr : &zipfian;
      std::vector<SkewedRun> turns;
      for (const std::string& name : forms(setup)) turns.push_back({name, {}});
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        for (std::size_t t = 0; t < tables.size(); ++t) {
          auto& figures = turns[t].figures;
          asked.silent = false;
          figures["get_mops"].push_back(rate(*tables[t], Ask::get, items, setup, setup.threads, asked));
          asked.silent = true;
          figures["upsert_mops"].push_back(rate(*tables[t], Ask::upsert, items, setup, setup.threads, asked));
          if (turns[t].form == "dramhit-p") continue;
          asked.silent = false;
          for (const double reads : {0.5, 0.95}) {
            asked.reads = reads;
            figures[reads == 0.5 ? "half_reads_mops" : "most_reads_mops"].push_back(
                rate(*tables[t], Ask::mixed, items, setup, setup.threads, asked));
          }
        }
      }
      for (const SkewedRun& one : turns) {
        Json run{{"form", one.form}, {"items", items}, {"theta", theta}};
        for (const auto& [what, values] : one.figures) run[what] = spread(values);
        runs.push_back(run);
      }
      if (const auto ratio = best_over_folklore(turns)) {
        best.push_back({{"items", items}, {"theta", theta}, {"upsert", *ratio}});
      }
    }
  }
  return {{"threads", setup.threads}, {"runs", runs}, {"best_over_folklore", best}};
}
const Study kSkew("skew", study_skew);

/// What prefetch, partitions and SIMD each add.
Json study_forms(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t items : {kSmallItems, setup.items}) {
    for (const char* const name : {"folklore@portable", "folklore", "dramhit@portable", "dramhit@avx2", "dramhit",
                                   "dramhit-p@portable", "dramhit-p@avx2", "dramhit-p"}) {
      std::map<std::string, std::vector<double>> figures;
      progress(said("forms", name, items));
      const auto table = subject(name, items, setup);
      figures["put_new_mops"].push_back(fill(*table, items, setup.threads));
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        Asked asked;
        figures["get_mops"].push_back(rate(*table, Ask::get, items, setup, setup.threads, asked));
        asked.silent = table->is_silent();
        figures["upsert_mops"].push_back(rate(*table, Ask::upsert, items, setup, setup.threads, asked));
      }
      Json run{{"form", name}, {"items", items}};
      for (const auto& [what, values] : figures) run[what] = spread(values);
      runs.push_back(run);
    }
  }
  return {{"threads", setup.threads}, {"runs", runs}};
}
const Study kForms("forms", study_forms);

/// A table in the caches beside Folklore.
Json study_small(const Setup& setup) {
  std::vector<double> ours, theirs;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    const auto table = subject("dramhit", kSmallItems, setup), folklore = subject("folklore", kSmallItems, setup);
    fill(*table, kSmallItems, setup.threads);
    fill(*folklore, kSmallItems, setup.threads);
    ours.push_back(rate(*table, Ask::get, kSmallItems, setup, setup.threads));
    theirs.push_back(rate(*folklore, Ask::get, kSmallItems, setup, setup.threads));
  }
  return {{"items", kSmallItems},
          {"threads", setup.threads},
          {"get_mops", spread(ours)},
          {"folklore_mops", spread(theirs)},
          {"over_folklore", spread(ratio_of(ours, theirs))}};
}
const Study kSmall("small", study_small);

/// Figure 6c: other lines brought into the caches after each operation.
Json study_pollution(const Setup& setup) {
  Json runs = Json::array();
  for (const char* const name : {"dramhit", "folklore"}) {
    progress(said("pollution", name, setup.items));
    const auto table = subject(name, setup.items, setup);
    fill(*table, setup.items, setup.threads);
    for (const unsigned lines : {0u, 4u, 16u, 64u, 256u, 512u}) {
      std::vector<double> gets;
      Asked asked;
      asked.pollutes = lines;
      Setup here = setup;
      here.operations = setup.operations / (1 + lines / 4);
      for (unsigned i = 0; i < setup.repetitions; ++i) {
        gets.push_back(rate(*table, Ask::get, setup.items, here, setup.threads, asked));
      }
      runs.push_back({{"form", name}, {"lines", lines}, {"get_mops", spread(gets)}});
    }
  }
  return {{"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
}
const Study kPollution("pollution", study_pollution);

/// Figure 9: cycles from a call to its answer.
Json study_latency(const Setup& setup) {
  Json runs = Json::array();
  for (const char* const name : {"dramhit", "folklore"}) {
    progress(said("latency", name, setup.items));
    const auto table = subject(name, setup.items, setup);
    fill(*table, setup.items, setup.threads);
    for (const auto& [what, kind] : {std::pair{"get", Ask::get}, std::pair{"upsert", Ask::upsert}}) {
      Asked asked;
      asked.ask = kind;
      asked.items = setup.items - setup.items / 16;
      asked.batch = 1;
      std::vector<std::uint64_t> cycles = latencies(*table, asked, std::min<std::uint64_t>(setup.operations, 1 << 20));
      std::sort(cycles.begin(), cycles.end());
      Json run{{"form", name}, {"operation", what}};
      for (const unsigned percent : {10, 50, 90, 99}) {
        run["cycles_" + std::to_string(percent)] = cycles[cycles.size() * percent / 100];
      }
      runs.push_back(run);
    }
  }
  return {{"items", setup.items}, {"runs", runs}};
}
const Study kLatency("latency", study_latency);

}  // namespace
}  // namespace holdfast::bench::dramhit
