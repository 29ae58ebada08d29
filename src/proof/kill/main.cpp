// main.cpp: holdfast-kill-test: real SIGKILLs of real processes, judged by an oracle in another one.
//
//   holdfast-kill-test --kills 1000 --json bench/results
//   holdfast-kill-test --kills 100 --device cuda --again-ms 1000 [--large]
//
// Subjects run one after the other; `--list` names those that are registered (registry.hpp). `--kills` and `--seconds` are of each; in a
// run of all subjects each gets its share of the kills. With --large, only those run that have large batches.
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
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "proof/kill/campaign.hpp"
#include "proof/kill/children.hpp"
#include "proof/kill/report.hpp"

namespace {

using namespace holdfast::proof;
using namespace holdfast::proof::kill;

constexpr const char* kUsage =
    "usage: holdfast-kill-test [--subject NAME|all] [--list] [--kills N] [--stops PERCENT] [--seconds S] "
    "[--seed N]\n"
    "                          [--device cpu|cuda] [--dir FOLDER] [--again-ms N] [--life-us N] [--json FOLDER] "
    "[--large] [--keep]\n";

struct Arguments {
  Options options;
  std::string subject = "all";
  bool list = false;
  std::string json;
};

Arguments parse(int count, char** texts) {
  Arguments arguments;
  Options& options = arguments.options;
  for (int i = 1; i < count; ++i) {
    const std::string name = texts[i];
    if (name == "--keep" || name == "--large" || name == "--list") {
      (name == "--keep" ? options.keep : name == "--large" ? options.large : arguments.list) = true;
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
    else if (name == "--subject")
      arguments.subject = value;
    else if (name == "--json")
      arguments.json = value;
    else
      throw std::invalid_argument("unknown option " + name);
  }
  if (options.stops > 100) options.stops = options.on_gpu() ? 80 : 60;
  options.progress = isatty(STDERR_FILENO) != 0;
  return arguments;
}

/// The subjects that run, each with its kills.
std::vector<std::pair<SubjectKind, Options>> chosen(const Arguments& arguments) {
  std::vector<std::pair<SubjectKind, Options>> some;
  std::string names;
  for (const SubjectKind& kind : registered_subjects()) {
    names += std::string(names.empty() ? "" : ", ") + kind.name;
    const bool all = arguments.subject == "all";
    if ((!all && arguments.subject != kind.name) || (arguments.options.large && !kind.large)) continue;
    Options options = arguments.options;
    if (all) options.kills = (options.kills * kind.share + 99) / 100;
    some.emplace_back(kind, options);
  }
  if (some.empty()) {
    const std::string large = arguments.options.large ? " with large batches" : "";
    throw std::invalid_argument("there is no subject " + arguments.subject + large + ", only " + names);
  }
  return some;
}

/// A line a subject: its name, and its kills.
int list_subjects(const Arguments& arguments) {
  for (const auto& [kind, options] : chosen(arguments)) {
    std::printf("%s %llu\n", kind.name, static_cast<unsigned long long>(options.kills));
  }
  return 0;
}

std::string file_name(const Arguments& arguments) {
  return "kill-test" + (arguments.subject == "all" ? "" : "-" + arguments.subject) +
         (arguments.options.on_gpu() ? "-cuda" : "") + (arguments.options.large ? "-large" : "") + ".json";
}

/// A line for each kind of event of which there were too few.
std::string lacking(const Campaign& campaign) {
  const Options& options = campaign.options();
  if (!campaign.counts().violations.empty()) return "";
  // A run that ends by the clock may have had bad luck: it is asked for half as many.
  return campaign.lacking(options.seconds > 0 ? std::min(options.kills, campaign.counts().kills) / 2 : options.kills);
}

int run(const Arguments& arguments) {
  std::uint64_t violations = 0;
  std::vector<std::unique_ptr<Campaign>> campaigns;
  for (const auto& [kind, options] : chosen(arguments)) {
    campaigns.push_back(std::make_unique<Campaign>(options, kind));
    violations += campaigns.back()->run().violations.size();
  }
  Results results("holdfast.kill-test/3");
  results.add("device", arguments.options.device);
  results.add("seed", arguments.options.seed);
  results.add("violations", violations);
  std::string tables, lines;
  for (const auto& campaign : campaigns) {
    Results counts = results_of(*campaign);
    campaign->kind().at_root ? results.add(counts) : results.add(campaign->kind().name, counts);
    if (arguments.options.stops != 0) tables += table_of(*campaign);
    lines += lacking(*campaign);
  }
  std::printf("%s%s", results.text().c_str(), tables.c_str());
  if (!arguments.json.empty()) {
    std::printf("written to %s\n", results.write(arguments.json, file_name(arguments)).c_str());
  }
  const bool passed = violations == 0 && lines.empty();
  std::printf("%s%s\n", lines.c_str(), passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}

/// `role` is a subject's name, a dash, and what the child does.
int run_child(const std::string& role, int descriptor) {
  Shared& shared = *map_shared_memory(descriptor);
#ifdef HOLDFAST_FAILPOINTS
  map_failpoints(descriptor);
#endif
  for (const SubjectKind& kind : registered_subjects()) {
    if (role == std::string(kind.name) + "-write") return write_until_killed(shared, *kind.make_writer(shared));
    if (role == std::string(kind.name) + "-reopen") return reopen_and_report(shared, *kind.make_reader(shared));
  }
  throw std::invalid_argument("no child is called " + role);
}

}  // namespace

int main(int count, char** texts) try {
  if (count == 4 && std::strcmp(texts[1], "--child") == 0) return run_child(texts[2], std::atoi(texts[3]));
  const Arguments arguments = parse(count, texts);
  return arguments.list ? list_subjects(arguments) : run(arguments);
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "holdfast-kill-test: %s\n%s", error.what(), kUsage);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "holdfast-kill-test: %s\n", error.what());
  return 2;
}
