// studies.hpp: the studies of a program, by name. Each enters itself where it is written; no list of them is kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frame/json.hpp"

namespace holdfast::bench {

/// Studies that are given a `Setup`, and return what the program prints.
template <class Setup>
class Studies {
 public:
  using Run = std::function<Json(const Setup&)>;

  /// A variable of this kind beside a study is its entry.
  struct Entry {
    Entry(const char* name, Run run) { all().emplace(name, std::move(run)); }
  };
  static std::map<std::string, Run>& all() {
    static std::map<std::string, Run> studies;
    return studies;
  }
  static std::vector<std::string> names() {
    std::vector<std::string> all_names;
    for (const auto& [name, run] : all()) all_names.push_back(name);
    return all_names;
  }
};

}  // namespace holdfast::bench
