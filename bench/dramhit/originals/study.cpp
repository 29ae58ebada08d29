// study.cpp: the study `originals`: the published code of other volatile tables, in shared libraries, asked in turns with ours.
#include "dramhit/alternation.hpp"
#include "dramhit/originals/library.hpp"
#include "holdfast/error.hpp"
#include "peers/libraries.hpp"

namespace holdfast::bench::dramhit {
namespace {

Json study_volatile_originals(const Setup& setup) {
  if (setup.originals.empty()) {
    throw InvalidArgument("the study originals has no table to measure with ours: name libraries with --originals");
  }
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
    Alternation alternation(names, setup.peer_items, setup);
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
  return {{"items", setup.peer_items}, {"threads", setup.threads}, {"peers", peers}, {"mops", spreads(figures)}};
}
const Study kVolatileOriginals("originals", study_volatile_originals, false);  // not listed: it needs libraries

}  // namespace
}  // namespace holdfast::bench::dramhit
