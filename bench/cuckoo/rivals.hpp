// rivals.hpp: other ways to insert, which were compared with the one that ships (structures/cuckoo/change.hpp).
#pragma once

#include "structures/cuckoo/change.hpp"

namespace holdfast::bench::cuckoo {

using namespace holdfast::cuckoo;

/// Mega-KV §4.2: displaces a random entry of a random bucket of the key, then one of that entry's other bucket, and so on, up to `most`
/// displacements. As the entries are copied before they are cleared, the chain is found first and executed from its end.
template <class T, class Memory, class Random>
Inserted insert_by_walk(const T& tile, const Memory& memory, const Geometry& geometry, Hash hash, Location location,
                        unsigned most, Random& random) {
  constexpr unsigned kMost = 128;
  struct Step {
    BucketNumber bucket;
    unsigned cell;
  };
  const Target target(geometry, hash);
  const std::uint64_t entry = entry_of(target.signature, location);
  Inserted inserted{false, 0};
  for (unsigned attempt = 0; attempt < 4; ++attempt) {  // a chain that crosses itself may not be executable
    if (fill_either(tile, memory, target, entry, true)) return {true, inserted.moves};
    Step chain[kMost];
    unsigned size = 0;
    BucketNumber bucket = random.below(2) == 0 ? target.primary : target.other;
    bool found = false;
    while (!found && size < most && size < kMost) {
      const auto cell = static_cast<unsigned>(random.below(Memory::kCells));
      chain[size++] = {bucket, cell};
      bucket = geometry.other(bucket, signature_of(memory.load_cell(bucket, cell)));
      found = tile.cells_with(memory, bucket, kEmpty, true) != 0;
    }
    if (!found) return inserted;
    for (; size > 0; --size) {
      const Step step = chain[size - 1];
      const std::uint64_t next = memory.load_cell(step.bucket, step.cell);
      const BucketNumber to = geometry.other(step.bucket, signature_of(next));
      if (!move_entry(tile, memory, geometry, step.bucket, step.cell, to)) break;
      ++inserted.moves;
    }
  }
  return inserted;
}

/// Puts each key into the emptier one of its buckets.
template <class T, class Memory>
Inserted insert_balanced(const T& tile, const Memory& memory, const Geometry& geometry, Hash hash, Location location) {
  const Target target(geometry, hash);
  const LaneMask there = tile.cells_with(memory, target.other, kEmpty, true);
  if (count_bits(there) > count_bits(tile.cells_with(memory, target.primary, kEmpty, true))) {
    const BucketNumber home = target.primary;
    update_group(tile, memory, home, [=](Group group) { return group.one_more(home); });
    if (fill_bucket(tile, memory, target.other, entry_of(target.signature, location), there, true)) return {true, 0};
  }
  return insert(tile, memory, geometry, target, location);
}

}  // namespace holdfast::bench::cuckoo
