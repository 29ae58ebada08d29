// registry.hpp: the subjects of holdfast-kill-test. Each registers itself, from its own folder: no list names them.
//
//   const RegisterSubject<LogSubject, LogShared> registered{{.name = "log", .share = 50}};  // subject.cpp
//   const RegisterChildren<LogWriter, LogReader> registered{"log"};                         // children.cpp, or there too
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "proof/kill/children.hpp"
#include "proof/kill/subject.hpp"

namespace holdfast::proof::kill {

/// What a subject says of itself.
struct SubjectTraits {
  const char* name;      ///< letters, digits and underscores
  unsigned share = 100;  ///< of a hundred kills of each subject that a run of all of them is asked for
  bool large = false;    ///< it runs with `--large`, which leaves the others out
  bool at_root = false;  ///< its counts are fields of the result itself, not of one called by its name
};

/// A subject with all its parts.
struct SubjectKind : SubjectTraits {
  std::size_t part_bytes = 0;  ///< that its children share with it
  std::unique_ptr<Subject> (*make)(const Options&, Shared&) = nullptr;
  std::unique_ptr<Writer> (*make_writer)(Shared&) = nullptr;
  std::unique_ptr<Reader> (*make_reader)(Shared&) = nullptr;
};

/// Those that are registered, the largest shares first. Throws std::logic_error if a part of one is missing, or was registered twice.
std::vector<SubjectKind> registered_subjects();

/// Add a part to the subject called `name`. A part that it has already stays; `registered_subjects` reports it.
void register_subject(const SubjectKind& kind);
void register_children(const char* name, std::unique_ptr<Writer> (*make_writer)(Shared&),
                       std::unique_ptr<Reader> (*make_reader)(Shared&));

/// Registers a class derived from Subject; `Part` is what its children share with it, all zeros at first.
template <class Made, class Part>
struct RegisterSubject {
  explicit RegisterSubject(const SubjectTraits& traits) {
    SubjectKind kind{traits};
    kind.part_bytes = sizeof(Part);
    kind.make = [](const Options& options, Shared& shared) -> std::unique_ptr<Subject> {
      return std::make_unique<Made>(options, shared);
    };
    register_subject(kind);
  }
};

/// Registers the classes of its children.
template <class MadeWriter, class MadeReader>
struct RegisterChildren {
  explicit RegisterChildren(const char* name) {
    register_children(
        name, [](Shared& shared) -> std::unique_ptr<Writer> { return std::make_unique<MadeWriter>(shared); },
        [](Shared& shared) -> std::unique_ptr<Reader> { return std::make_unique<MadeReader>(shared); });
  }
};

}  // namespace holdfast::proof::kill
