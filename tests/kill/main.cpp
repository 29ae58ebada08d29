// main.cpp: holdfast-kill-test: real SIGKILLs of real processes, judged by an oracle in another one.
//
//   holdfast-kill-test --kills 1000 --json bench/results
//   holdfast-kill-test --kills 100 --device cuda --again-ms 1000 [--large]
//
// Of a hundred writers `--stops` (60, on a GPU 80) come from holdfast-kill-child, which lies beside this program and has failpoints, and
// stop at one before they are killed. All others, and nearly all recoveries, are of the library as it is shipped.
//
// Exit status 0: nothing acknowledged was lost, and the counts that the proof asks for were reached.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "campaign.hpp"
#include "children.hpp"
#include "report.hpp"

namespace {

using namespace holdfast::test;
using namespace holdfast::test::kill;

constexpr const char* kUsage =
    "usage: holdfast-kill-test [--kills N] [--stops PERCENT] [--seconds S] [--seed N] [--device cpu|cuda] [--dir "
    "FOLDER]\n"
    "                          [--again-ms N] [--life-us N] [--json FOLDER] [--large] [--keep]\n";

struct Arguments {
  Options options;
  std::string json;
};

Arguments parse(int count, char** texts) {
  Arguments arguments;
  Options& options = arguments.options;
  for (int i = 1; i < count; ++i) {
    const std::string name = texts[i];
    if (name == "--keep" || name == "--large") {
      (name == "--keep" ? options.keep : options.large) = true;
      continue;
    }
    if (i + 1 >= count) throw std::invalid_argument(name + " needs a value, or is unknown");
    const std::string value = texts[++i];
    if (name == "--kills")
      options.kills = std::stoull(value);
    else if (name == "--stops")
      options.stops = std::min(100u, static_cast<unsigned>(std::stoul(value)));
    else if (name == "--seconds")
      options.seconds = std::stod(value);
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--device")
      options.device = value;
    else if (name == "--dir")
      options.folder = value;
    else if (name == "--again-ms")
      options.again_ms = static_cast<unsigned>(std::stoul(value));
    else if (name == "--life-us")
      options.life_us = static_cast<unsigned>(std::stoul(value));
    else if (name == "--json")
      arguments.json = value;
    else
      throw std::invalid_argument("unknown option " + name);
  }
  if (options.stops > 100) options.stops = options.device == "cpu" ? 60 : 80;
  options.progress = isatty(STDERR_FILENO) != 0;
  return arguments;
}

int run(const Arguments& arguments) {
  const Counts counts = Campaign(arguments.options).run();
  const Results results = results_of(arguments.options, counts);
  std::printf("%s%s", results.text().c_str(), arguments.options.stops == 0 ? "" : table_of(counts).c_str());
  if (!arguments.json.empty()) {
    const std::string file = std::string("kill-test") + (arguments.options.device == "cpu" ? "" : "-cuda") +
                             (arguments.options.large ? "-large" : "") + ".json";
    std::printf("written to %s\n", results.write(arguments.json, file).c_str());
  }
  const Options& options = arguments.options;
  // A run that ends by the clock may have had bad luck: it is asked for half as many.
  const std::uint64_t planned = options.seconds > 0 ? std::min(options.kills, counts.kills) / 2 : options.kills;
  const std::string lacking = counts.violations.empty() ? counts.lacking(planned, options) : "";
  std::printf("%s", lacking.c_str());
  const bool passed = counts.violations.empty() && lacking.empty();
  std::printf("%s\n", passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}

}  // namespace

int main(int count, char** texts) try {
  if (count == 4 && std::strcmp(texts[1], "--child") == 0) {
    Shared& shared = *map_shared_memory(std::atoi(texts[3]));
#ifdef HOLDFAST_FAILPOINTS
    map_failpoints(std::atoi(texts[3]));
#endif
    return std::strcmp(texts[2], "write") == 0 ? write_until_killed(shared) : reopen_and_report(shared);
  }
  return run(parse(count, texts));
} catch (const std::exception& error) {
  std::fprintf(stderr, "holdfast-kill-test: %s\n%s", error.what(), kUsage);
  return 2;
}
