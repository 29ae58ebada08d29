// setup.hpp: the options of holdfast-structures-bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frame/studies.hpp"

namespace holdfast::bench::structures {

struct Setup {
  unsigned bits = 0;  ///< log2 of the cells of each table; 0: as the trace has
  std::vector<std::string> traces = {"random", "words", "fingerprint"};
  std::vector<std::string> schemes;  ///< empty: all
  std::vector<double> loads = {0.5, 0.75};
  std::uint64_t operations = 10'000;  ///< of each kind, a run
  unsigned runs = 5;
  unsigned seeds = 9;
  unsigned threads = 2;
  std::string words_file;              ///< a docword file of UCI's Bag of Words; empty: generated
  std::string folder;                  ///< whose files' blocks are fingerprinted; empty: generated
  std::vector<std::string> originals;  ///< shared libraries with other tables (originals/original.hpp)
  std::string pool = "/dev/shm/holdfast-structures-bench.hold";

  void take(CLI::App& app);
};
using Study = StudyOf<Setup>;

/// Says on the standard error what is measured now.
void progress(const std::string& what);

}  // namespace holdfast::bench::structures
