// main.cpp: holdfast-kill-test: real SIGKILLs of real processes, judged by an oracle in another one.
//
//   holdfast-kill-test --kills 1000 --json bench/results
//   holdfast-kill-test --kills 100 --device cuda --again-ms 1000 [--large]
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
#include "support/results.hpp"

namespace {

using namespace holdfast::test;
using namespace holdfast::test::kill;

constexpr const char* kUsage =
    "usage: holdfast-kill-test [--kills N] [--seconds S] [--seed N] [--device cpu|cuda] [--dir FOLDER]\n"
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
  options.progress = isatty(STDERR_FILENO) != 0;
  return arguments;
}

Results results_of(const Arguments& arguments, const Counts& counts) {
  Results results("holdfast.kill-test/1");
  results.add("device", arguments.options.device);
  results.add("seed", arguments.options.seed);
  results.add("kills", counts.kills);
  results.add("inside", counts.inside);
  if (arguments.options.large) {
    results.add("inside_large_batches", counts.inside_large);
    results.add("batches_in_phases", counts.phased);
  }
  results.add("starting", counts.starting);
  results.add("recoveries", counts.recoveries);
  results.add("recoveries_killed", counts.recoveries_killed);
  results.add("recovery_kills", counts.recovery_kills);
  results.add("recoveries_at_another_address", counts.addresses);
  results.add("pools", counts.pools);
  results.add("pools_on_disk", counts.on_disk);
  results.add("pools_of_medium_file", counts.file_medium);
  results.add("calls", counts.calls);
  results.add("operations", counts.operations);
  results.add("keys_verified", counts.keys_verified);
  results.add("pending_kept", counts.pending_kept);
  results.add("pending_lost", counts.pending_lost);
  results.add("pending_reads_survived", counts.reads_bound);
  results.add("repaired_slots", counts.repaired);
  results.add("finished_moves", counts.moved);
  results.add("rehashed", counts.rehashed);
  results.add("largest_items", counts.largest);
  results.add("max_recovery_ms", counts.max_recovery_ms);
  results.add("seconds", counts.seconds);
  results.add("violations", static_cast<std::uint64_t>(counts.violations.size()));
  return results;
}

int run(const Arguments& arguments) {
  const Counts counts = Campaign(arguments.options).run();
  const Results results = results_of(arguments, counts);
  std::printf("%s", results.text().c_str());
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
    return std::strcmp(texts[2], "write") == 0 ? write_until_killed(shared) : reopen_and_report(shared);
  }
  return run(parse(count, texts));
} catch (const std::exception& error) {
  std::fprintf(stderr, "holdfast-kill-test: %s\n%s", error.what(), kUsage);
  return 2;
}
