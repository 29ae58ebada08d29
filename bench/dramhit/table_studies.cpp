// table_studies.cpp: tables by threads, batch, skew, mix, form, and what else is in the caches. DRAMHiT §4.2, §4.3.
#include <algorithm>

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
  return {{"study", "threads"}, {"runs", runs}};
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
  return {{"study", "batches"}, {"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
}
const Study kBatches("batches", study_batches);

/// Of each table and skew: upserts of the best of our forms over Folklore's.
Json best_forms(const Json& runs) {
  Json all = Json::array();
  for (const Json& folklore : runs) {
    if (folklore["form"] != "folklore") continue;
    double best = 0;
    for (const Json& run : runs) {
      if (run["form"] == "folklore" || run["items"] != folklore["items"] || run["theta"] != folklore["theta"]) continue;
      best = std::max(best, run["upsert_mops"]["median"].get<double>());
    }
    const double ratio = best / folklore["upsert_mops"]["median"].get<double>();
    all.push_back({{"items", folklore["items"]}, {"theta", folklore["theta"]}, {"upsert", ratio}});
  }
  return all;
}

/// Figure 8: by skew, and mixed with reads.
Json study_skew(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t items : {kSmallItems, setup.items}) {
    for (const std::string& name : forms(setup)) {
      progress(said("skew", name, items));
      const auto table = subject(name, items, setup);
      fill(*table, items, setup.threads);
      for (const double theta : {0.0, 0.4, 0.8, 0.99, 1.09, 1.2}) {
        const std::uint64_t drawn = items - items / 16;
        const Distribution zipfian(Shape::zipfian, drawn, theta == 0 ? 0.99 : theta);
        Asked asked;
        asked.distribution = theta == 0 ? nullptr : &zipfian;
        std::map<std::string, std::vector<double>> figures;
        for (unsigned i = 0; i < setup.repetitions; ++i) {
          asked.silent = false;
          figures["get_mops"].push_back(rate(*table, Ask::get, items, setup, setup.threads, asked));
          asked.silent = true;
          figures["upsert_mops"].push_back(rate(*table, Ask::upsert, items, setup, setup.threads, asked));
          if (name == "dramhit-p") continue;
          asked.silent = false;
          for (const double reads : {0.5, 0.95}) {
            asked.reads = reads;
            figures[reads == 0.5 ? "half_reads_mops" : "most_reads_mops"].push_back(
                rate(*table, Ask::mixed, items, setup, setup.threads, asked));
          }
        }
        Json run{{"form", name}, {"items", items}, {"theta", theta}};
        for (const auto& [what, values] : figures) run[what] = spread(values);
        runs.push_back(run);
      }
    }
  }
  return {{"study", "skew"}, {"threads", setup.threads}, {"runs", runs}, {"best_over_folklore", best_forms(runs)}};
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
  return {{"study", "forms"}, {"threads", setup.threads}, {"runs", runs}};
}
const Study kForms("forms", study_forms);

/// A table in the caches beside Folklore.
Json study_small(const Setup& setup) {
  std::vector<double> ours, theirs, ratios;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    const auto table = subject("dramhit", kSmallItems, setup), folklore = subject("folklore", kSmallItems, setup);
    fill(*table, kSmallItems, setup.threads);
    fill(*folklore, kSmallItems, setup.threads);
    ours.push_back(rate(*table, Ask::get, kSmallItems, setup, setup.threads));
    theirs.push_back(rate(*folklore, Ask::get, kSmallItems, setup, setup.threads));
    ratios.push_back(ours.back() / theirs.back());
  }
  return {{"study", "small"},
          {"items", kSmallItems},
          {"threads", setup.threads},
          {"get_mops", spread(ours)},
          {"folklore_mops", spread(theirs)},
          {"over_folklore", spread(ratios)}};
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
  return {{"study", "pollution"}, {"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
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
  return {{"study", "latency"}, {"items", setup.items}, {"runs", runs}};
}
const Study kLatency("latency", study_latency);

}  // namespace
}  // namespace holdfast::bench::dramhit
