// main.cpp: holdfast-dramhit-bench STUDY [OPTIONS]: one study of the table in memory, as JSON on the standard output.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <thread>

#include "dramhit/rounds.hpp"

int main(int argc, char** argv) {
  using holdfast::bench::Studies;
  using holdfast::bench::dramhit::Setup;
  CLI::App app(
      "Studies of the table in memory. Every answer is checked; wrong ones end with status 1. Progress goes to the "
      "standard error.");
  Setup setup;
  setup.threads = std::max(1u, std::thread::hardware_concurrency());
  std::string study;
  const std::string names = CLI::detail::join(Studies<Setup>::names(), ", ");
  app.add_option("study", study, "One of " + names)->required();
  app.add_option("--items", setup.items, "Of the large table");
  app.add_option("--peer-items", setup.peer_items, "Of tables beside peers");
  app.add_option("--operations", setup.operations, "Of each measurement");
  app.add_option("--threads", setup.threads, "That ask");
  app.add_option("--repeat", setup.repetitions, "Repetitions");
  app.add_option("--fills", setup.fills, "Of `peers`: how often each table is filled");
  app.add_option("--file", setup.file, "Of the durable table beside ours");
  app.add_option("--depth", setup.depth, "Lines that a thread waits for; 0: the table's own");
  app.add_option("--part", setup.part, "Of a study, where it can be run in parts");
  CLI11_PARSE(app, argc, argv);
  const auto& studies = Studies<Setup>::all();
  const auto found = studies.find(study);
  if (found == studies.end()) {
    std::fprintf(stderr, "holdfast-dramhit-bench: there is no study '%s'; there are: %s\n", study.c_str(),
                 names.c_str());
    return 2;
  }
  try {
    std::printf("%s\n", found->second(setup).dump(1).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "holdfast-dramhit-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
