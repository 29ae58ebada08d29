// subject.cpp: makes tables by the names of their schemes.
#include "structures/subject.hpp"

#include <algorithm>
#include <functional>

#include "holdfast/error.hpp"
#include "structures/durable_table.hpp"
#include "structures/schemes.hpp"

namespace holdfast::bench::structures {

namespace {

struct Maker {
  std::string name;
  bool durable;
  std::function<std::unique_ptr<Subject>(const Plan&, const Emulation&)> timed;
  std::function<std::unique_ptr<Subject>(const Plan&)> counted;
};

const std::vector<Maker>& makers() {
  static const std::vector<Maker> all = {
      {"group", true, timed<GroupScheme>, counted<GroupScheme>},
      {"table", true, [](const Plan& plan, const Emulation& emulation) { return durable_table(plan, &emulation); },
       [](const Plan& plan) { return durable_table(plan, nullptr); }},
  };
  return all;
}

const Maker& maker(const std::string& scheme) {
  const auto found =
      std::find_if(makers().begin(), makers().end(), [&](const Maker& one) { return one.name == scheme; });
  if (found != makers().end()) return *found;
  std::string names;
  for (const Maker& one : makers()) names += (names.empty() ? "" : ", ") + one.name;
  throw InvalidArgument("there is no scheme " + scheme + "; there are " + names);
}

}  // namespace

const std::vector<std::string>& scheme_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Maker& one : makers()) all.push_back(one.name);
    return all;
  }();
  return names;
}

std::vector<std::string> schemes_of(const Setup& setup) {
  for (const std::string& name : setup.schemes) maker(name);
  return setup.schemes.empty() ? scheme_names() : setup.schemes;
}

bool is_durable(const std::string& scheme) { return maker(scheme).durable; }

std::unique_ptr<Subject> timed_subject(const std::string& scheme, const Plan& plan, const Emulation& emulation) {
  return maker(scheme).timed(plan, emulation);
}
std::unique_ptr<Subject> counted_subject(const std::string& scheme, const Plan& plan) {
  return maker(scheme).counted(plan);
}

}  // namespace holdfast::bench::structures
