// bars.cpp: a large table, uniform: what part of the memory's own rate it gets, and how much more than others.
#include <string>
#include <vector>

#include "dramhit/studies.hpp"
#include "dramhit/worker.hpp"
#include "limits.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::size_t kRows = 16384;  ///< of a round of one thread

using Figures = std::map<std::string, std::vector<double>>;

Json spreads(const Figures& figures) {
  Json json = Json::object();
  for (const auto& [name, values] : figures) json[name] = spread(values);
  return json;
}

/// Fills a table with `items`, and then asks it; figures in M operations a second.
void ask_all(const std::string& name, std::uint64_t items, const Setup& setup, Figures& figures) {
  const auto table = subject(name, items, setup);
  const std::uint64_t round = std::uint64_t{kRows} * setup.threads;
  const auto counted = [&](const std::string& what, Ask kind, std::uint64_t operations, bool silent = false) {
    const std::uint64_t lines = table->lines(), done = table->operations();
    Asked asked;
    asked.ask = kind;
    asked.items = std::max(items / round, std::uint64_t{1}) * round;  // what put_new put, in whole rounds
    asked.seed = figures[name + "_" + what].size() + 1;
    asked.silent = silent;
    const Measured measured = ask(*table, asked, operations, setup.threads, kRows);
    figures[name + "_" + what].push_back(measured.mops);
    if (table->operations() > done) {
      const double each = static_cast<double>(table->lines() - lines) / static_cast<double>(table->operations() - done);
      figures[name + "_" + what + "_lines"].push_back(each);
    }
  };
  counted("put_new", Ask::put_new, items);
  counted("get", Ask::get, setup.operations);
  counted("absent", Ask::absent, setup.operations);
  counted("put", Ask::put, setup.operations);
  counted("upsert", Ask::upsert, setup.operations);
}

void ratio(Figures& figures, const std::string& name, const std::string& above, const std::string& below) {
  const auto& a = figures[above];
  const auto& b = figures[below];
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) figures[name].push_back(a[i] / b[i]);
}

}  // namespace

Json study_bars(const Setup& setup) {
  Figures figures;
  const std::uint64_t bytes = setup.items / 3 * 4 * 16;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    const std::uint64_t lines = setup.operations / setup.threads;
    figures["read_limit"].push_back(measure_limit("random_read", bytes, lines, setup.threads, true) / 1e6);
    figures["update_limit"].push_back(measure_limit("random_update", bytes, lines, setup.threads, true) / 1e6);
    ask_all("dramhit", setup.items, setup, figures);
    ask_all("folklore", setup.items, setup, figures);
    const auto part = [&](const char* name, const char* what, const char* of) {
      const double lines_each = figures[std::string("dramhit_") + what + "_lines"].back();
      figures[name].push_back(figures[std::string("dramhit_") + what].back() * lines_each / figures[of].back());
    };
    part("get_lines_of_limit", "get", "read_limit");
    part("put_new_lines_of_limit", "put_new", "update_limit");
  }
  ratio(figures, "get_of_limit", "dramhit_get", "read_limit");
  ratio(figures, "get_over_folklore", "dramhit_get", "folklore_get");
  ratio(figures, "put_new_over_folklore", "dramhit_put_new", "folklore_put_new");
  return {{"study", "bars"}, {"items", setup.items}, {"threads", setup.threads}, {"mops", spreads(figures)}};
}

Json study_peers(const Setup& setup) {
  Figures figures;
  std::vector<std::string> names = peer_names();
  std::vector<std::string> all = names;
  all.emplace_back("dramhit");
  all.emplace_back("folklore");
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    for (const std::string& name : all) ask_all(name, setup.peer_items, setup, figures);
    for (const char* const what : {"put_new", "get", "absent", "put", "upsert"}) {
      double best = 0;
      for (const std::string& name : names) best = std::max(best, figures[name + "_" + what].back());
      if (best > 0) {
        figures[std::string(what) + "_over_best_peer"].push_back(figures[std::string("dramhit_") + what].back() / best);
      }
    }
  }
  if (figures.contains("libcuckoo_get")) ratio(figures, "folklore_over_libcuckoo_get", "folklore_get", "libcuckoo_get");
  return {{"study", "peers"},
          {"items", setup.peer_items},
          {"threads", setup.threads},
          {"peers", names},
          {"mops", spreads(figures)}};
}

Json study_depth(const Setup& setup) {
  Json runs = Json::array();
  for (const unsigned depth : {8u, 12u, 16u, 20u, 24u, 28u, 32u, 40u, 48u, 64u, 96u, 127u}) {
    Setup here = setup;
    here.depth = depth;
    Figures figures;
    for (unsigned i = 0; i < setup.repetitions; ++i) ask_all("dramhit", setup.items, here, figures);
    runs.push_back({{"depth", depth}, {"mops", spreads(figures)}});
  }
  return {{"study", "depth"}, {"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
}

const std::map<std::string, Json (*)(const Setup&)>& studies() {
  static const std::map<std::string, Json (*)(const Setup&)> all{
      {"bars", study_bars},         {"batches", study_batches}, {"churn", study_churn},         {"depth", study_depth},
      {"growth", study_growth},     {"latency", study_latency}, {"limits", study_limits},       {"locks", study_locks},
      {"messages", study_messages}, {"peers", study_peers},     {"pollution", study_pollution}, {"skew", study_skew},
      {"small", study_small},       {"threads", study_threads},
  };
  return all;
}

}  // namespace holdfast::bench::dramhit
