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

[[noreturn]] void refuse(const std::string& name, const char* what) {
  throw std::logic_error("the kill subject " + name + " " + what);
}

}  // namespace

void register_subject(const SubjectKind& kind) {
  SubjectKind& entry = registry()[kind.name];
  if (entry.make != nullptr) refuse(kind.name, "is registered twice: give one of them another name");
  SubjectKind whole = kind;
  whole.make_writer = entry.make_writer;
  whole.make_reader = entry.make_reader;
  entry = whole;
}

void register_children(const char* name, std::unique_ptr<Writer> (*make_writer)(Shared&),
                       std::unique_ptr<Reader> (*make_reader)(Shared&)) {
  SubjectKind& entry = registry()[name];
  if (entry.make_writer != nullptr) refuse(name, "has its children registered twice");
  entry.make_writer = make_writer;
  entry.make_reader = make_reader;
}

std::vector<SubjectKind> registered_subjects() {
  std::vector<SubjectKind> all;
  for (const auto& [name, kind] : registry()) {
    if (kind.make == nullptr) refuse(name, "has children and no RegisterSubject");
    if (kind.make_writer == nullptr) refuse(name, "has no RegisterChildren");
    all.push_back(kind);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return all;
}

}  // namespace holdfast::proof::kill
