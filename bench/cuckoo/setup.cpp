// setup.cpp: the options of holdfast-cuckoo-bench.
#include "cuckoo/setup.hpp"

#include <CLI/CLI.hpp>

namespace holdfast::bench::cuckoo {

void Setup::take(CLI::App& app) {
  app.add_option("--bits", bits, "log2 of the buckets of 8 cells; 0: as the study does")->check(CLI::Range(0, 28));
  app.add_option("--batch", batch, "rows of a batch; 0: as the study does");
  app.add_option("--repetitions", repetitions, "of each measurement")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", threads, "that work on the index at once (cpu)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace holdfast::bench::cuckoo
