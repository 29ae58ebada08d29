// setup.cpp: takes the options.
#include "structures/setup.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "frame/timing.hpp"

namespace holdfast::bench::structures {

void Setup::take(CLI::App& app) {
  app.add_option("--bits", bits, "log2 of the cells of each table; without it 23, 24 and 25, by trace")
      ->check(CLI::Range(12, 30));
  app.add_option("--traces", traces, "random, words, fingerprint")
      ->check(CLI::IsMember({"random", "words", "fingerprint"}));
  app.add_option("--schemes", schemes, "Those to measure, as results name them; without it all");
  app.add_option("--loads", loads, "Load factors")->check(CLI::Range(0.01, 0.9));
  app.add_option("--operations", operations, "Of each kind, a run")->check(CLI::PositiveNumber);
  app.add_option("--runs", runs, "Of each measurement")->check(CLI::PositiveNumber);
  app.add_option("--seeds", seeds, "Of the hash, for space utilisation")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "At most")->check(CLI::Range(1, 64));
  app.add_option("--words-file", words_file, "A docword file of UCI's Bag of Words, unpacked");
  app.add_option("--folder", folder, "Whose files' blocks of 4 KiB are fingerprinted");
  app.add_option(
      "--originals", originals,
      "Shared libraries with tables that the studies `originals`, `durable-peers` and `flushed-lines` measure");
  app.add_option("--pool", pool, "The file of tables in pools; it is replaced");
}

void progress(const std::string& what) {
  static const auto start = Clock::now();
  std::fprintf(stderr, "%6.1f s  %s\n", seconds_since(start), what.c_str());
}

}  // namespace holdfast::bench::structures
