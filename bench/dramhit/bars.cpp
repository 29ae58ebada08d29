// bars.cpp: a large table, uniform: what part of the memory's own rate it gets, and how much more than others.
#include <string>
#include <vector>

#include "dramhit/rounds.hpp"
#include "dramhit/worker.hpp"
#include "memory/limits.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::size_t kRows = 16384;  ///< of a round of one thread

constexpr const char* kAsked[] = {"put_new", "get", "absent", "put", "upsert"};

using Figures = std::map<std::string, std::vector<double>>;

Json spreads(const Figures& figures) {
  Json json = Json::object();
  for (const auto& [name, values] : figures) json[name] = spread(values);
  return json;
}

/// Fills a table with `items`, and then asks it `times` over; figures in M operations a second.
void ask_all(const std::string& name, std::uint64_t items, const Setup& setup, unsigned times, Figures& figures) {
  const auto table = subject(name, items, setup);
  const std::uint64_t round = std::uint64_t{kRows} * setup.threads;
  const auto counted = [&](const std::string& what, Ask kind, std::uint64_t operations, bool silent = false) {
    const std::uint64_t lines = table->lines(), done = table->operations();
    Asked asked;
    asked.ask = kind;
    asked.items = std::max(items / round, std::uint64_t{1}) * round;  // what put_new put, in whole rounds
    asked.seed = figures[name + "_" + what].size() + 1;
    asked.silent = silent;
    progress(name + ": " + what);
    const Measured measured = ask(*table, asked, operations, setup.threads, kRows);
    figures[name + "_" + what].push_back(measured.mops);
    for (const auto& [counter, each] : measured.counted) {
      figures[name + "_" + what + "_" + counter].push_back(each);
    }
    if (table->operations() > done) {
      const double each = static_cast<double>(table->lines() - lines) / static_cast<double>(table->operations() - done);
      figures[name + "_" + what + "_lines"].push_back(each);
    }
  };
  counted("put_new", Ask::put_new, items);
  for (unsigned i = 0; i < times; ++i) {
    counted("get", Ask::get, setup.operations);
    counted("absent", Ask::absent, setup.operations);
    counted("put", Ask::put, setup.operations);
    counted("upsert", Ask::upsert, setup.operations);
  }
}

void ratio(Figures& figures, const std::string& name, const std::string& above, const std::string& below) {
  const auto& a = figures[above];
  const auto& b = figures[below];
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) figures[name].push_back(a[i] / b[i]);
}

/// Get, put, absent and upsert beside the limits of memory and Folklore.
Json study_bars(const Setup& setup) {
  Figures figures;
  const std::uint64_t bytes = setup.items / 3 * 4 * 16;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    const std::uint64_t lines = setup.operations / setup.threads;
    progress("limits, repetition " + std::to_string(i + 1));
    figures["read_limit"].push_back(measure_limit("random_read", bytes, lines, setup.threads, true) / 1e6);
    figures["update_limit"].push_back(measure_limit("random_update", bytes, lines, setup.threads, true) / 1e6);
    ask_all("dramhit", setup.items, setup, 1, figures);
    ask_all("folklore", setup.items, setup, 1, figures);
    const auto part = [&](const char* name, const char* what, const char* of) {
      const double lines_each = figures[std::string("dramhit_") + what + "_lines"].back();
      figures[name].push_back(figures[std::string("dramhit_") + what].back() * lines_each / figures[of].back());
    };
    part("get_lines_of_limit", "get", "read_limit");
    part("put_new_lines_of_limit", "put_new", "update_limit");
  }
  ratio(figures, "get_of_limit", "dramhit_get", "read_limit");
  for (const std::string what : kAsked) ratio(figures, what + "_over_folklore", "dramhit_" + what, "folklore_" + what);
  return {{"study", "bars"}, {"items", setup.items}, {"threads", setup.threads}, {"mops", spreads(figures)}};
}
const Study kBars("bars", study_bars);

/// The same beside the peers.
Json study_peers(const Setup& setup) {
  Figures figures;
  std::vector<std::string> names = peer_names();
  std::vector<std::string> all = names;
  all.emplace_back("dramhit");
  all.emplace_back("folklore");
  for (unsigned i = 0; i < setup.fills; ++i) {
    for (const std::string& name : all) ask_all(name, setup.peer_items, setup, setup.repetitions, figures);
  }
  for (const std::string what : kAsked) {
    const std::vector<double>& ours = figures["dramhit_" + what];
    for (std::size_t i = 0; i < ours.size() && !names.empty(); ++i) {
      double best = 0;
      for (const std::string& name : names) best = std::max(best, figures[name + "_" + what][i]);
      figures[what + "_over_best_peer"].push_back(ours[i] / best);
    }
    if (!figures.contains("libcuckoo_get")) continue;
    ratio(figures, what + "_folklore_over_libcuckoo", "folklore_" + what, "libcuckoo_" + what);
  }
  return {{"study", "peers"},
          {"items", setup.peer_items},
          {"threads", setup.threads},
          {"peers", names},
          {"mops", spreads(figures)}};
}
const Study kPeers("peers", study_peers);

/// Get and put by the depth of the queue.
Json study_depth(const Setup& setup) {
  Json runs = Json::array();
  for (const unsigned depth : {8u, 12u, 16u, 20u, 24u, 28u, 32u, 40u, 48u, 64u, 96u, 127u}) {
    Setup here = setup;
    here.depth = depth;
    Figures figures;
    for (unsigned i = 0; i < setup.repetitions; ++i) ask_all("dramhit", setup.items, here, 1, figures);
    runs.push_back({{"depth", depth}, {"mops", spreads(figures)}});
  }
  return {{"study", "depth"}, {"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
}
const Study kDepth("depth", study_depth);

}  // namespace
}  // namespace holdfast::bench::dramhit
