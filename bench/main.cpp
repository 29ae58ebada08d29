// main.cpp: the main of every benchmark program, holdfast-<folder>-bench STUDY [OPTIONS]: finds the studies that are linked with it
// (frame/studies.hpp), runs one, and prints its JSON object. What it does meanwhile goes to the standard error.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "frame/studies.hpp"

namespace holdfast::bench {
namespace {

int run(int count, char** words) {
  CLI::App app("Every answer is checked after the clock has stopped; wrong ones end it with status 1.");
  std::vector<std::string> all, listed;
  for (const auto& [name, study] : linked().studies) {
    all.push_back(name);
    if (study.listed) listed.push_back(name);
  }
  std::string name = listed.size() == 1 ? listed.front() : "";
  app.add_option("study", name, "what to measure")->check(CLI::IsMember(all))->required(name.empty());
  const auto list = [&] {
    for (const std::string& each : listed) std::puts(each.c_str());
    throw CLI::Success();
  };
  app.add_flag_callback("--list", list, "the names of the studies, a line each");
  linked().take(app);
  CLI11_PARSE(app, count, words);
  Json result = linked().studies.at(name).run();
  if (!result.contains("study")) result["study"] = name;  // else by what it measured, such as an index on a GPU
  std::puts(result.dump(1).c_str());
  return result.value("failed", false) ? 1 : 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** words) {
  try {
    return holdfast::bench::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", words[0], error.what());
    return 1;
  }
}
