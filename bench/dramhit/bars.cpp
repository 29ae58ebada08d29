// bars.cpp: a large table, uniform: what part of the memory's own rate it gets, and how much more than others.
#include <algorithm>
#include <string>
#include <vector>

#include "dramhit/alternation.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr const char* kAsked[] = {"put_new", "get", "absent", "put", "upsert"};

void ask_all(Alternation& alternation, const Setup& setup, Figures& figures) {
  for (const Ask kind : {Ask::get, Ask::absent, Ask::put, Ask::upsert})
    alternation.ask(kind, setup.operations, figures);
}

/// Get, put, absent and upsert beside the limits of memory and Folklore.
Json study_bars(const Setup& setup) {
  Figures figures;
  Limit limit(setup.items / 3 * 4 * 16, setup);
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    progress("repetition " + std::to_string(i + 1));
    Alternation alternation({"dramhit", "folklore"}, setup.items, setup, &limit);
    alternation.fill(figures);
    ask_all(alternation, setup, figures);
  }
  for (const std::string what : kAsked) {
    ratio(figures, what + "_over_folklore", "dramhit_" + what, "folklore_" + what);
    ratio(figures, what + "_of_limit", "dramhit_" + what, what + "_limit");
    for (std::size_t i = 0; i < setup.repetitions; ++i) {
      figures[what + "_lines_of_limit"].push_back(figures[what + "_of_limit"][i] *
                                                  figures["dramhit_" + what + "_lines"][i]);
    }
  }
  return {{"items", setup.items}, {"threads", setup.threads}, {"mops", spreads(figures)}};
}
const Study kBars("bars", study_bars);

/// The same beside the peers, each in turns with ours.
Json study_peers(const Setup& setup) {
  Figures figures;
  const std::vector<std::string> names = peer_names();
  std::map<std::string, std::vector<double>> best;  // by operation and repetition, over the peer that comes closest
  for (const std::string& name : names) {
    Figures here;
    for (unsigned fill = 0; fill < setup.fills; ++fill) {
      progress(name + ", fill " + std::to_string(fill + 1));
      Alternation alternation({"dramhit", "folklore", name}, setup.peer_items, setup);
      alternation.fill(here);
      for (unsigned i = 0; i < setup.repetitions; ++i) ask_all(alternation, setup, here);
    }
    for (const std::string what : kAsked) {
      const std::string over = what + "_over_" + name;
      ratio(here, over, "dramhit_" + what, name + "_" + what);
      std::vector<double>& least = best[what];
      least.resize(here[over].size(), here[over].front());
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], here[over][i]);
      if (name == "libcuckoo") ratio(here, what + "_folklore_over_libcuckoo", "folklore_" + what, "libcuckoo_" + what);
    }
    for (const auto& [figure, values] : here) {
      figures[figure].insert(figures[figure].end(), values.begin(), values.end());
    }
  }
  for (const auto& [what, least] : best) figures[what + "_over_best_peer"] = least;
  return {{"items", setup.peer_items}, {"threads", setup.threads}, {"peers", names}, {"mops", spreads(figures)}};
}
const Study kPeers("peers", study_peers);

/// Get and put by the depth of the queue.
Json study_depth(const Setup& setup) {
  Json runs = Json::array();
  for (const unsigned depth : {8u, 16u, 24u, 32u, 48u, 64u, 96u, 127u}) {
    Setup here = setup;
    here.depth = depth;
    Figures figures;
    for (unsigned i = 0; i < setup.repetitions; ++i) {
      Alternation alternation({"dramhit", "folklore"}, setup.items, here);
      alternation.fill(figures);
      ask_all(alternation, here, figures);
    }
    for (const std::string what : kAsked)
      ratio(figures, what + "_over_folklore", "dramhit_" + what, "folklore_" + what);
    runs.push_back({{"depth", depth}, {"mops", spreads(figures)}});
  }
  return {{"items", setup.items}, {"threads", setup.threads}, {"runs", runs}};
}
const Study kDepth("depth", study_depth);

}  // namespace
}  // namespace holdfast::bench::dramhit
