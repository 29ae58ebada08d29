// churn.cpp: the study `churn`: erases and inserts mixed for ten times the capacity, at one load factor: what a table costs that has been
// in use for long.
#include <cmath>
#include <stdexcept>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "structures/workload.hpp"

namespace holdfast::bench::structures {
namespace {

constexpr unsigned kPhases = 10;  ///< each of as many pairs of an erase and an insert as there are cells
constexpr std::uint64_t kChurnSeed = 13;

/// Pairs on one table. `present`: the items that it has.
struct Churned {
  double pair_ns = 0;
  std::uint64_t refused = 0;
};
Churned churn(Subject& table, std::vector<std::uint64_t>& present, std::uint64_t& next, std::uint64_t pairs,
              Random& random) {
  Churned churned;
  std::uint64_t wrong = 0;
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < pairs; ++i) {
    std::uint64_t& item = present[random.below(present.size())];
    wrong += table.erase(Key{key_of(item, kChurnSeed), 0}.data()) == Status::erased ? 0 : 1;
    for (;;) {  // ends: a key of another group finds a cell
      item = next++;
      const Key key{key_of(item, kChurnSeed), 0};
      if (table.insert(key.data(), value_of(key).data()) == Status::inserted) break;
      ++churned.refused;
    }
  }
  churned.pair_ns = seconds_since(start) * 1e9 / static_cast<double>(pairs);
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " items of a churned table were not there");
  return churned;
}

Json study_churn(const Setup& setup) {
  const unsigned bits = setup.bits == 0 ? 20 : setup.bits;
  const std::uint64_t cells = std::uint64_t{1} << bits;
  Json rows = Json::array();
  for (const double load : {0.5, 0.7}) {
    for (const std::string& scheme : schemes_of(setup)) {
      Emulation emulation;
      const auto table = timed_subject(scheme, {.bits = bits, .pool = setup.pool}, emulation);
      std::vector<std::uint64_t> present;
      std::uint64_t next = 0;
      for (const auto items = static_cast<std::uint64_t>(load * static_cast<double>(cells)); present.size() < items;
           ++next) {
        const Key key{key_of(next, kChurnSeed), 0};
        if (table->insert(key.data(), value_of(key).data()) == Status::inserted) present.push_back(next);
        if (next > 2 * items) throw std::runtime_error(scheme + " takes no " + std::to_string(items) + " items");
      }
      emulation = {{pool::FlushKind::clflush}, Delay::calibrated().ticks(300)};
      Random random(5);
      Json pair_ns = Json::array(), refused = Json::array();  // by phase
      for (unsigned phase = 1; phase <= kPhases; ++phase) {
        progress("churn: load " + std::to_string(load) + ", " + scheme + ", phase " + std::to_string(phase));
        const Churned churned = churn(*table, present, next, cells, random);
        pair_ns.push_back(std::round(churned.pair_ns));
        refused.push_back(churned.refused);
      }
      rows.push_back({{"load", load}, {"scheme", scheme}, {"pair_ns", pair_ns}, {"refused", refused}});
      if (table->size() != present.size()) throw std::runtime_error(scheme + " has another number of items");
      for (const std::uint64_t item : present) {
        const Key key{key_of(item, kChurnSeed), 0};
        Key value = {};
        if (table->find(key.data(), value.data()) != Status::found || value[0] != value_of(key)[0]) {
          throw std::runtime_error(scheme + " has lost an item");
        }
      }
    }
  }
  return {{"emulated", "clflush, 300 ns"}, {"cells", cells}, {"rows", rows}};
}
const Study kChurn("churn", study_churn);

}  // namespace
}  // namespace holdfast::bench::structures
