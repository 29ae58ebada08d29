// load.cpp: the study `load`: up to which load factor inserts find a cell, how many entries they move, and how many lines searches read.
// One thread, memory of the CPU; the numbers are the same for a GPU.
#include <functional>
#include <stdexcept>
#include <vector>

#include "cuckoo/rivals.hpp"
#include "cuckoo/setup.hpp"
#include "frame/json.hpp"
#include "structures/cuckoo/cpu/cpu_memory.hpp"
#include "structures/cuckoo/search.hpp"

namespace holdfast::bench::cuckoo {
namespace {

using holdfast::cuckoo::cpu::CpuMemory;

constexpr OneThread kTile;
constexpr double kLoads[] = {0.5, 0.75, 0.81, 0.88, 0.94, 0.96};

/// An index in memory of its own.
struct Filled {
  explicit Filled(unsigned bits)
      : geometry{bits, bits, ~std::uint32_t{0}},
        cells(geometry.buckets() * CpuMemory::kCells),
        groups(groups_of(bits)),
        memory{cells.data(), groups.data()} {}
  Geometry geometry;
  std::vector<std::uint64_t> cells, groups;
  CpuMemory memory;
};

using Insert = std::function<Inserted(const Filled&, Hash, Location)>;

/// The lines of cells that searches read, for items [0, items) and for absent ones.
double lines(const Filled& index, std::uint64_t first, std::uint64_t items) {
  std::uint64_t second = 0;
  for (std::uint64_t item = first; item < first + items; ++item) {
    const Target target(index.geometry, hash_of(item));
    const bool first = kTile.location(index.memory, target.primary, target.signature, true) != kNone;
    second += !first && index.memory.load_group(target.primary).spilled(target.primary) != 0 ? 1 : 0;
  }
  return 1 + static_cast<double>(second) / static_cast<double>(items);
}

/// Fills an index until an insert finds no cell; every item must be found then. `seed` chooses the items.
Json fill_up(unsigned bits, std::uint64_t seed, const Insert& insert) {
  Filled index(bits);
  const auto cells = static_cast<double>(index.cells.size());
  const std::uint64_t first = seed << 40;
  std::uint64_t items = 0, moves = 0, since = 0, at_since = 0;
  Json points = Json::array();
  unsigned next = 0;
  for (bool done = true; done;) {
    const Inserted inserted = insert(index, hash_of(first + items), static_cast<Location>(items));
    done = inserted.done;
    moves += inserted.moves;
    items += done ? 1 : 0;
    if (next == std::size(kLoads) || static_cast<double>(items) < kLoads[next] * cells) continue;
    const double rate = static_cast<double>(moves - since) / static_cast<double>(items - at_since);
    points.push_back({{"load", kLoads[next++]},
                      {"moves_per_insert", rounded(rate)},
                      {"lines_present", rounded(lines(index, first, items))},
                      {"lines_absent", rounded(lines(index, kAbsentItem, items))}});
    since = moves;
    at_since = items;
  }
  std::uint64_t lost = 0;
  for (std::uint64_t item = 0; item < items; ++item) {
    Location found[kMostCandidates];
    const unsigned size = candidates(index.memory, Target(index.geometry, hash_of(first + item)), found);
    bool there = false;
    for (unsigned i = 0; i < size; ++i) there = there || found[i] == item;
    lost += there ? 0 : 1;
  }
  if (lost != 0) throw std::runtime_error(std::to_string(lost) + " entries are lost");
  return {{"first_failure", rounded(static_cast<double>(items) / cells)}, {"points", points}};
}

Json load(const Setup& setup) {
  const unsigned bits = setup.bits != 0 ? setup.bits : 20;
  Random random(1);
  const std::pair<const char*, Insert> ways[] = {
      {"breadth-first", [](const Filled& i, Hash hash,
                           Location at) { return insert(kTile, i.memory, i.geometry, Target(i.geometry, hash), at); }},
      {"random walk", [&](const Filled& i, Hash hash,
                          Location at) { return insert_by_walk(kTile, i.memory, i.geometry, hash, at, 128, random); }},
      {"breadth-first, emptier bucket first",
       [](const Filled& i, Hash hash, Location at) { return insert_balanced(kTile, i.memory, i.geometry, hash, at); }},
  };
  Json rows = Json::array();
  for (const auto& [name, way] : ways) {
    std::vector<double> failures;
    Json points;
    for (unsigned repetition = 0; repetition < setup.repetitions; ++repetition) {
      const Json filled = fill_up(bits, repetition + 1, way);
      failures.push_back(filled["first_failure"]);
      points = filled["points"];
    }
    rows.push_back({{"displacement", name}, {"first_failure", spread(failures)}, {"points", points}});
  }
  return {{"cells", std::uint64_t{8} << bits}, {"displacements", rows}};
}

const Study kLoad("load", load);

}  // namespace
}  // namespace holdfast::bench::cuckoo
