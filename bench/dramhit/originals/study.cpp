// study.cpp: the study `originals`: the published code of other volatile tables, in shared libraries, asked in turns with ours.
#include <algorithm>
#include <bit>

#include "dramhit/alternation.hpp"
#include "dramhit/originals/library.hpp"
#include "holdfast/error.hpp"
#include "peers/libraries.hpp"

namespace holdfast::bench::dramhit {
namespace {

/// Three quarters of a power of two, at most `items`. The others' slots are a power of two: with any other number of items their tables
/// would be emptier than ours, down to 0.38, and searches are shorter in an emptier table.
std::uint64_t three_quarters(std::uint64_t items) { return std::bit_floor(std::max<std::uint64_t>(items / 3, 1)) * 3; }

Json study_volatile_originals(const Setup& setup) {
  if (setup.originals.empty()) {
    throw InvalidArgument("the study originals has no table to measure with ours: name libraries with --originals");
  }
  const std::uint64_t items = three_quarters(setup.peer_items);
  Json peers = Json::array();
  std::vector<std::string> names = {"dramhit"};
  for (const std::string& path : setup.originals) {
    const HoldfastVolatile& one = load_volatile(path);
    names.emplace_back(one.name);
    peers.push_back(about(one));
  }
  Figures figures;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    progress("repetition " + std::to_string(i + 1));
    Alternation alternation(names, items, setup);
    alternation.fill(figures);
    for (const Ask kind : {Ask::get, Ask::absent, Ask::put}) alternation.ask(kind, setup.operations, figures);
    for (const double theta : {0.0, 1.09}) alternation.ask(Ask::upsert, setup.operations, figures, {theta, true});
  }
  for (std::size_t i = 1; i < names.size(); ++i) {
    for (const std::string what : {"put_new", "get", "absent", "put", "upsert", "upsert_zipfian"}) {
      if (figures.contains(names[i] + "_" + what))
        ratio(figures, what + "_over_" + names[i], "dramhit_" + what, names[i] + "_" + what);
    }
  }
  return {{"items", items}, {"threads", setup.threads}, {"peers", peers}, {"mops", spreads(figures)}};
}
const Study kVolatileOriginals("originals", study_volatile_originals, false);  // not listed: it needs libraries

}  // namespace
}  // namespace holdfast::bench::dramhit
