// subject.cpp: makes tables by the names of their schemes.
#include "structures/subject.hpp"

#include <algorithm>
#include <functional>

#include "holdfast/error.hpp"
#include "structures/durable_table.hpp"
#include "structures/linear/linear_form.hpp"
#include "structures/path/path_form.hpp"
#include "structures/pfht/pfht_form.hpp"
#include "structures/schemes.hpp"

namespace holdfast::bench::structures {

namespace {

struct Maker {
  std::string name;
  bool durable;
  std::function<std::unique_ptr<Subject>(const Plan&, const Emulation&)> timed;
  std::function<std::unique_ptr<Subject>(const Plan&)> counted;
};

template <class Scheme>
Maker of(const char* name, bool durable) {
  return {name, durable, timed<Scheme>, counted<Scheme>};
}

const std::vector<Maker>& makers() {
  static const std::vector<Maker> all = {
      of<GroupScheme>("group", true),
      {"table", true, [](const Plan& plan, const Emulation& emulation) { return durable_table(plan, &emulation); },
       [](const Plan& plan) { return durable_table(plan, nullptr); }},
      of<CellScheme<linear::Plain>>("linear", false),
      of<CellScheme<linear::Logged>>("linear-l", true),
      of<CellScheme<pfht::Plain>>("pfht", false),
      of<CellScheme<pfht::Logged>>("pfht-l", true),
      of<CellScheme<path::Plain>>("path", false),
      of<CellScheme<path::Logged>>("path-l", true),
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
