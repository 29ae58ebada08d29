// medium.hpp: where a file's bytes live, and what a completed write to it survives. Rule 9.
#pragma once

#include <cstdint>

#include "holdfast/pool.hpp"
#include "pool/superblock.hpp"
#include "system/file.hpp"

namespace holdfast::pool {

struct MediumFacts {
  Medium medium = Medium::file;
  std::uint64_t granule = kPage;  ///< extents begin at multiples of it: the page size of a hugetlbfs, else 4096
  bool counts_blocks = false;     ///< the file system is known to count the allocated bytes of a file exactly
  bool unlinked = false;          ///< a memfd, or a file whose name was removed: it lives while a process holds it
  bool held_elsewhere = false;    ///< unlinked, and reached through the descriptor of another process
};

MediumFacts find_medium(const system::File& file);

/// Rule 9. `gpu`: for what the GPU writes.
Domain domain_of(const MediumFacts& facts, bool gpu);

}  // namespace holdfast::pool
