// studies.hpp: the studies of a program, by name. Each enters itself where it is written; no list of them is kept. bench/main.cpp
// finds and runs them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "frame/json.hpp"

namespace CLI {
class App;
}

namespace holdfast::bench {

/// What is linked with a program.
struct Linked {
  struct Named {
    std::function<Json()> run;
    bool listed;
  };
  std::map<std::string, Named> studies;
  std::function<void(CLI::App&)> take;  ///< adds the options of all studies
};
inline Linked& linked() {
  static Linked all;
  return all;
}

/// Enters a study: `const StudyOf<Setup> kName("name", function);` beside the function, which takes the options as a Setup and
/// returns what the program prints; where that has a `failed` which is true, the program ends with status 1.
/// `Setup::take(CLI::App&)` adds the options. All studies of a program must have the same Setup: the last one's options are
/// taken. What a study runs as a process of its own is not `listed`.
template <class Setup>
struct StudyOf {
  StudyOf(const char* name, std::function<Json(const Setup&)> run, bool listed = true) {
    static Setup setup;
    linked().studies[name] = {[run = std::move(run)] { return run(setup); }, listed};
    linked().take = [](CLI::App& app) { setup.take(app); };
  }
};

}  // namespace holdfast::bench
