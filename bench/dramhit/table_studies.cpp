// table_studies.cpp: tables by threads, batch, skew, mix, and what else is in the caches; churn and growth. DRAMHiT §4.2, §4.3.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "dramhit/studies.hpp"
#include "dramhit/worker.hpp"
#include "holdfast/error.hpp"
#include "holdfast/memory_table.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::uint64_t kSmallItems = 786'000;  // 16 MiB of slots, three quarters full

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double rate(Subject& table, Ask kind, std::uint64_t items, const Setup& setup, unsigned threads,
            const Asked& more = {}) {
  Asked asked = more;
  asked.ask = kind;
  asked.items = items - items / 16;
  return ask(table, asked, setup.operations, threads).mops;
}

/// Fills a table; M operations a second.
double fill(Subject& table, std::uint64_t items, unsigned threads) {
  Asked asked;
  asked.silent = table.is_silent();
  asked.ask = Ask::put_new;
  const std::size_t rows = std::min<std::size_t>(16384, items / threads / 16);
  return ask(table, asked, items, threads, rows).mops;
}

std::vector<std::string> forms(const Setup& setup) {
  if (!setup.part.empty()) return {setup.part};
  return {"dramhit", "dramhit-p", "folklore"};
}

}  // namespace

Json study_threads(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t items : {kSmallItems, setup.items}) {
    for (const std::string& name : forms(setup)) {
      for (unsigned threads = 1; threads <= setup.threads; threads *= 2) {
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

Json study_batches(const Setup& setup) {
  Json runs = Json::array();
  for (const std::string& name : forms(setup)) {
    const auto table = subject(name, setup.items, setup);
    fill(*table, setup.items, setup.threads);
    for (const std::size_t batch : {1, 2, 4, 8, 16}) {
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

Json study_skew(const Setup& setup) {
  Json runs = Json::array();
  for (const std::uint64_t items : {kSmallItems, setup.items}) {
    for (const std::string& name : forms(setup)) {
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
  return {{"study", "skew"}, {"threads", setup.threads}, {"runs", runs}};
}

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

Json study_churn(const Setup& setup) {
  std::vector<double> fresh, churned, slower;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    MemoryTable table({.capacity = setup.items, .threads = setup.threads, .grows = false, .populate = true});
    constexpr std::size_t kRows = 1 << 16;
    std::vector<std::uint64_t> keys(kRows), values(kRows), gone(kRows);
    const auto put = [&](std::uint64_t first) {
      for (std::size_t r = 0; r < kRows; ++r) values[r] = value_of(keys[r] = key_of(first + r, 3));
      if (table.insert(keys.data(), values.data(), kRows).of(Status::inserted) != kRows) {
        throw Error("a key found no slot");
      }
    };
    const std::uint64_t items = setup.items / kRows * kRows;
    const auto read = [&](std::uint64_t first) {
      Random random(i + 1);
      double seconds = 0;
      std::vector<std::uint64_t> out(kRows);
      for (std::uint64_t done = 0; done < setup.operations; done += kRows) {
        for (std::size_t r = 0; r < kRows; ++r) keys[r] = key_of(first + random.below(items), 3);
        const auto start = std::chrono::steady_clock::now();
        table.find(keys.data(), out.data(), kRows);
        seconds += seconds_since(start);
        for (std::size_t r = 0; r < kRows; ++r) {
          if (out[r] != value_of(keys[r])) throw Error("a value is wrong");
        }
      }
      return static_cast<double>(setup.operations) / seconds / 1e6;
    };
    for (std::uint64_t at = 0; at < items; at += kRows) put(at);
    fresh.push_back(read(0));
    const std::uint64_t turns = table.slots() * 10 / kRows;
    std::uint64_t last = 0;
    for (std::uint64_t t = 0; t < turns; ++t) {
      last = items + t * kRows;
      for (std::size_t r = 0; r < kRows; ++r) gone[r] = key_of(last + r - items, 3);
      if (table.erase(gone.data(), kRows).of(Status::erased) != kRows) throw Error("a key was not erased");
      put(last);
    }
    churned.push_back(read(last + kRows - items));
    slower.push_back(100 * (1 - churned.back() / fresh.back()));
  }
  return {{"study", "churn"},
          {"items", setup.items},
          {"threads", setup.threads},
          {"fresh_mops", spread(fresh)},
          {"churned_mops", spread(churned)},
          {"slower_percent", spread(slower)}};
}

Json study_growth(const Setup& setup) {
  std::vector<double> grown, made, ratios, gets_still, gets_meanwhile, kept;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    const auto load = [&](MemoryTable& table) {
      constexpr std::size_t kRows = 1 << 16;
      const auto start = std::chrono::steady_clock::now();
      together(setup.threads, [&](unsigned t) {
        std::vector<std::uint64_t> keys(kRows), values(kRows);
        for (std::uint64_t at = t * kRows; at + kRows <= setup.items; at += kRows * setup.threads) {
          for (std::size_t r = 0; r < kRows; ++r) values[r] = value_of(keys[r] = key_of(at + r, 3));
          table.insert(keys.data(), values.data(), kRows);
        }
      });
      return seconds_since(start);
    };
    MemoryTable growing({.capacity = 786'432, .threads = 1});
    grown.push_back(load(growing));
    MemoryTable large({.capacity = setup.items, .threads = 1});
    made.push_back(load(large));
    ratios.push_back(grown.back() / made.back());
    if (growing.size() != large.size()) throw Error("growth lost items");
    // One thread reads, without others, and while another makes the table grow.
    std::atomic<bool> stop{false};
    const auto read = [&](auto until) {
      Random random(7);
      std::vector<std::uint64_t> keys(4096), out(4096);
      std::uint64_t done = 0;
      double seconds = 0;
      while (!until(done)) {
        for (std::uint64_t& key : keys) key = key_of(random.below(large.size() / 2), 3);
        const auto start = std::chrono::steady_clock::now();
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
    std::thread grower([&] {
      large.reserve(setup.items * 2);
      stop = true;
    });
    gets_meanwhile.push_back(read([&](std::uint64_t) { return stop.load(); }));
    grower.join();
    kept.push_back(gets_meanwhile.back() / gets_still.back());
  }
  return {{"study", "growth"},
          {"items", setup.items},
          {"threads", setup.threads},
          {"grown_seconds", spread(grown)},
          {"made_seconds", spread(made)},
          {"over_made", spread(ratios)},
          {"get_mops", spread(gets_still)},
          {"get_meanwhile_mops", spread(gets_meanwhile)},
          {"get_kept", spread(kept)}};
}

Json study_pollution(const Setup& setup) {
  Json runs = Json::array();
  for (const char* const name : {"dramhit", "folklore"}) {
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

Json study_latency(const Setup& setup) {
  Json runs = Json::array();
  for (const char* const name : {"dramhit", "folklore"}) {
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

}  // namespace holdfast::bench::dramhit
