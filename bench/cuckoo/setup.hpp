// setup.hpp: the options of holdfast-cuckoo-bench, and its keys.
#pragma once

#include <cstdint>

#include "frame/keys.hpp"
#include "frame/studies.hpp"
#include "structures/cuckoo/entry.hpp"

namespace holdfast::bench::cuckoo {

struct Setup {
  unsigned bits = 0;        ///< log2 of the buckets; 0: as the study does
  std::uint64_t batch = 0;  ///< rows; 0: as the study does
  unsigned repetitions = 3;
  unsigned threads = 1;  ///< of `cpu`

  void take(CLI::App& app);
};
using Study = StudyOf<Setup>;

/// Item i has this hash, and location i; items from kAbsentItem on are never inserted. frame/keys.hpp
constexpr holdfast::cuckoo::Hash hash_of(std::uint64_t item) { return key_of(item, 3); }

}  // namespace holdfast::bench::cuckoo
