// setup.cpp: the options of holdfast-dramhit-bench: the studies of the table in memory.
#include <CLI/CLI.hpp>

#include "dramhit/rounds.hpp"

namespace holdfast::bench::dramhit {

void Setup::take(CLI::App& app) {
  app.add_option("--items", items, "Of the large table");
  app.add_option("--peer-items", peer_items, "Of tables beside peers");
  app.add_option("--operations", operations, "Of each measurement");
  app.add_option("--threads", threads, "That ask");
  app.add_option("--repeat", repetitions, "Repetitions");
  app.add_option("--fills", fills, "Of `peers`: how often each table is filled");
  app.add_option("--file", file, "Of the durable table beside ours");
  app.add_option("--depth", depth, "Lines that a thread waits for; 0: the table's own");
  app.add_option("--originals", originals, "Shared libraries with tables that the study `originals` measures");
  app.add_option("--part", part, "Of a study, where it can be run in parts");
}

}  // namespace holdfast::bench::dramhit
