// utilisation.cpp: the study `utilisation`: the load factor at which the first insert finds no cell. Figures 7 and 8b, and by the size of
// the table, against a simulation that places hashes alone.
#include <algorithm>
#include <vector>

#include "core/hash.hpp"
#include "frame/json.hpp"
#include "structures/group/shape.hpp"
#include "structures/subject.hpp"
#include "structures/traces.hpp"

namespace holdfast::bench::structures {
namespace {

constexpr unsigned kPaperGroup = 256;
constexpr unsigned kMostMeasuredBits = 17;  ///< of tables of other groups: filling large ones takes long

/// Numbered keys, of no trace.
Key numbered(std::uint64_t number) { return {number, number}; }

double load_of(std::uint64_t items, std::uint64_t cells) {
  return static_cast<double>(items) / static_cast<double>(cells);
}

/// Places the hashes of keys 0, 1, … until one finds no cell. With two hash functions (§4.4) a key has two cells of level 1, and then
/// either group's level 2.
double simulate(unsigned bits, unsigned group_size, std::uint64_t seed, unsigned functions) {
  const group::Shape shape{(std::uint64_t{1} << bits) / 2 / group_size, group_size, 2};
  std::vector<bool> first(shape.groups * group_size);
  std::vector<std::uint32_t> second(shape.groups);
  for (std::uint64_t key = 0;; ++key) {  // ends: the table is full
    const std::uint64_t hash = hash_key(key, seed);
    std::uint64_t groups[2] = {};
    bool is_placed = false;
    for (unsigned i = 0; i < functions && !is_placed; ++i) {
      const std::uint64_t its = i == 0 ? hash : hash_location(hash, i);
      groups[i] = shape.group_of(its);
      const std::uint64_t cell = groups[i] * group_size + shape.position_of(its);
      is_placed = !first[cell];
      first[cell] = true;
    }
    for (unsigned i = 0; i < functions && !is_placed; ++i) {
      is_placed = second[groups[i]] < group_size;
      second[groups[i]] += is_placed ? 1 : 0;
    }
    if (!is_placed) return load_of(key, shape.cells());
  }
}

/// Inserts keys until one finds no cell.
template <class KeyOf>
double fill_up(const std::string& scheme, const Plan& plan, std::uint64_t most, const KeyOf& key_of) {
  const Emulation none;
  const auto table = timed_subject(scheme, plan, none);
  std::uint64_t items = 0;
  for (; items < most; ++items) {
    const Key key = key_of(items);
    if (table->insert(key.data(), key.data()) != Status::inserted) break;
  }
  return load_of(items, table->cells());
}

/// Group hashing by size, group size and seed; measured where its tables are filled, and simulated.
Json sizes(const Setup& setup, unsigned most_bits) {
  Json rows = Json::array();
  for (unsigned bits = std::min(14u, most_bits); bits <= most_bits; bits += 3) {
    for (unsigned group = 64; group <= 1024; group *= 2) {
      progress("utilisation: 2^" + std::to_string(bits) + " cells, groups of " + std::to_string(group));
      std::vector<double> measured, simulated, both, apart;
      for (unsigned number = 1; number <= setup.seeds; ++number) {
        const std::uint64_t seed = holdfast::mix(number);  // the hash adds it to keys that are in sequence
        simulated.push_back(simulate(bits, group, seed, 1));
        both.push_back(simulate(bits, group, seed, 2));
        if (group != kPaperGroup && bits > kMostMeasuredBits) continue;
        const Plan plan{.bits = bits, .group_size = group, .seed = seed, .pool = {}};
        measured.push_back(fill_up("group", plan, ~std::uint64_t{0}, numbered));
        apart.push_back(std::abs(measured.back() - simulated.back()));
      }
      Json row{{"bits", bits},
               {"group_size", group},
               {"simulated", spread(simulated)},
               {"simulated_two_hashes", spread(both)}};
      if (!measured.empty()) {
        row["measured"] = spread(measured);
        row["apart"] = rounded(*std::max_element(apart.begin(), apart.end()));
      }
      rows.push_back(row);
    }
  }
  return rows;
}

/// Figures 7 and 8b: each scheme, and each group size, with the keys of the traces.
Json traces(const Setup& setup) {
  Json rows = Json::array();
  for (const std::string& name : setup.traces) {
    Trace trace = trace_named(name, setup);
    const std::uint64_t cells = std::uint64_t{1} << trace.bits;
    add_keys(trace, cells + cells / 32, setup);
    const auto key_of = [&](std::uint64_t i) { return trace.keys[i]; };
    for (const std::string& scheme : schemes_of(setup)) {
      if (scheme == "table" || scheme.ends_with("-l")) continue;  // ours grows; a log takes no cells
      for (unsigned group = 64; group <= 1024; group *= 2) {
        if (scheme != "group" && group != kPaperGroup) continue;
        progress("utilisation: " + name + ", " + scheme + ", groups of " + std::to_string(group));
        const Plan plan{.item_bytes = trace.item_bytes, .bits = trace.bits, .group_size = group, .pool = {}};
        Json row{{"trace", name}, {"scheme", scheme}};
        if (scheme == "group") row["group_size"] = group;
        row["load"] = rounded(fill_up(scheme, plan, trace.keys.size(), key_of));
        rows.push_back(row);
      }
    }
  }
  return rows;
}

Json study_utilisation(const Setup& setup) {
  return {
      {"seeds", setup.seeds}, {"sizes", sizes(setup, setup.bits == 0 ? 23 : setup.bits)}, {"traces", traces(setup)}};
}
const Study kUtilisation("utilisation", study_utilisation);

}  // namespace
}  // namespace holdfast::bench::structures
