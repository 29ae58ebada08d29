// main.cpp: holdfast-kill-test: real SIGKILLs of real processes, judged by an oracle in another one.
//
//   holdfast-kill-test --kills 1000 --json bench/results
//   holdfast-kill-test --kills 100 --device cuda --again-ms 1000 [--large]
//
// There are four subjects, one after the other: a table in a pool of its own, the directory of a pool of many, a checkpoint, and logs
// with transactions. `--kills` and `--seconds` are of each, but beside others the last two get half of them. With --large, which is about
// tables, the others are left out.
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
#include <vector>

#include "campaign.hpp"
#include "children.hpp"
#include "report.hpp"

namespace {

using namespace holdfast::test;
using namespace holdfast::test::kill;

constexpr const char* kUsage =
    "usage: holdfast-kill-test [--subject table|pool|checkpoint|log|all] [--kills N] [--stops PERCENT] [--seconds S] "
    "[--seed N]\n"
    "                          [--device cpu|cuda] [--dir FOLDER] [--again-ms N] [--life-us N] [--json FOLDER] "
    "[--large] [--keep]\n";

struct Arguments {
  Options options;
  std::string subject = "all";
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
    else if (name == "--subject")
      arguments.subject = value;
    else if (name == "--json")
      arguments.json = value;
    else
      throw std::invalid_argument("unknown option " + name);
  }
  if (options.large && arguments.subject != "all" && arguments.subject != "table") {
    throw std::invalid_argument("--large is about tables");
  }
  if (options.stops > 100) options.stops = options.on_gpu() ? 80 : 60;
  options.progress = isatty(STDERR_FILENO) != 0;
  return arguments;
}

struct SubjectFacts {
  const char* name;
  Campaign::MakeSubject make;
  std::unique_ptr<Writer> (*make_writer)(Shared&);
  std::unique_ptr<Reader> (*make_reader)(Shared&);
};
constexpr SubjectFacts kSubjects[] = {
    {"table", make_table_subject, make_table_writer, make_table_reader},
    {"pool", make_pool_subject, make_pool_writer, make_pool_reader},
    {"checkpoint", make_checkpoint_subject, make_checkpoint_writer, make_checkpoint_reader},
    {"log", make_log_subject, make_log_writer, make_log_reader},
};

/// What has fewer calls than a table and a pool, and needs fewer kills.
bool is_minor(const char* subject) {
  return std::strcmp(subject, "checkpoint") == 0 || std::strcmp(subject, "log") == 0;
}

/// Large batches are about tables alone.
bool is_wanted(const Arguments& arguments, const SubjectFacts& subject) {
  if (arguments.subject != "all") return arguments.subject == subject.name;
  return !arguments.options.large || std::strcmp(subject.name, "table") == 0;
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
  for (const SubjectFacts& subject : kSubjects) {
    if (!is_wanted(arguments, subject)) continue;
    Options options = arguments.options;
    if (arguments.subject == "all" && is_minor(subject.name)) options.kills = (options.kills + 1) / 2;
    campaigns.push_back(std::make_unique<Campaign>(options, subject.make));
    violations += campaigns.back()->run().violations.size();
  }
  Results results("holdfast.kill-test/3");
  results.add("device", arguments.options.device);
  results.add("seed", arguments.options.seed);
  results.add("violations", violations);
  if (campaigns.empty()) throw std::invalid_argument("no subject is called " + arguments.subject);
  std::string tables, lines;
  for (const auto& campaign : campaigns) {
    Results counts = results_of(*campaign);
    const std::string name = campaign->subject().name();
    name == "table" ? results.add(counts) : results.add(name, counts);
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
  for (const SubjectFacts& subject : kSubjects) {
    if (role == std::string(subject.name) + "-write") return write_until_killed(shared, *subject.make_writer(shared));
    if (role == std::string(subject.name) + "-reopen") return reopen_and_report(shared, *subject.make_reader(shared));
  }
  throw std::invalid_argument("no child is called " + role);
}

}  // namespace

int main(int count, char** texts) try {
  if (count == 4 && std::strcmp(texts[1], "--child") == 0) return run_child(texts[2], std::atoi(texts[3]));
  return run(parse(count, texts));
} catch (const std::exception& error) {
  std::fprintf(stderr, "holdfast-kill-test: %s\n%s", error.what(), kUsage);
  return 2;
}
