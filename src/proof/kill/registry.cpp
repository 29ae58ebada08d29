// registry.cpp: the registered subjects, which static objects fill before main runs.
#include "proof/kill/registry.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace holdfast::proof::kill {
namespace {

std::map<std::string, SubjectKind>& registry() {
  static std::map<std::string, SubjectKind> all;
  return all;
}

std::string refusal(const std::string& name, const char* what) { return "the kill subject " + name + " " + what; }

/// The first fault of a registration. It is kept until main asks, since no code catches what is thrown before.
std::string& twice() {
  static std::string first;
  return first;
}

void note_twice(const std::string& name, const char* what) {
  if (twice().empty()) twice() = refusal(name, what);
}

}  // namespace

void register_subject(const SubjectKind& kind) {
  SubjectKind& entry = registry()[kind.name];
  if (entry.make != nullptr) return note_twice(kind.name, "is registered twice: give one of them another name");
  SubjectKind whole = kind;
  whole.make_writer = entry.make_writer;
  whole.make_reader = entry.make_reader;
  entry = whole;
}

void register_children(const char* name, std::unique_ptr<Writer> (*make_writer)(Shared&),
                       std::unique_ptr<Reader> (*make_reader)(Shared&)) {
  SubjectKind& entry = registry()[name];
  if (entry.make_writer != nullptr)
    return note_twice(name, "has its children registered twice: give one of them another name");
  entry.make_writer = make_writer;
  entry.make_reader = make_reader;
}

std::vector<SubjectKind> registered_subjects() {
  std::vector<SubjectKind> all;
  for (const auto& [name, kind] : registry()) {
    if (kind.make == nullptr)
      throw std::logic_error(refusal(name, "has children and no RegisterSubject: add one to its folder"));
    if (kind.make_writer == nullptr)
      throw std::logic_error(refusal(name, "has no RegisterChildren: add one to its folder"));
    all.push_back(kind);
  }
  if (!twice().empty()) throw std::logic_error(twice());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return all;
}

}  // namespace holdfast::proof::kill
