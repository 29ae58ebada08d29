// everywhere_test.cpp: each subject is crashed at every call of the system, the process killed, the power cut, and in recovery again;
// and each call fails, once and for good. What is left is the old or the new, whole; nothing acknowledged is lost, nothing is kept.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>

#include "minimum.hpp"
#include "proof/crashes.hpp"
#include "proof/faults.hpp"
#include "subjects.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

using Parameter = std::tuple<std::string, bool>;  // subject, on a disk

std::string medium(const Parameter& parameter) { return std::get<1>(parameter) ? "file" : "shm"; }

class Everywhere : public testing::TestWithParam<Parameter> {
 protected:
  void prove(const char* proof, Counts (*everywhere)(Subject&, const std::string&, bool)) {
    const test::Folder root;
    const auto& [name, on_disk] = GetParam();
    const Counts counts = everywhere(*make_subject(name), root.path(), on_disk);
    for (const std::string& wrong : counts.wrong) ADD_FAILURE() << wrong;
    expect_no_less(proof, medium(GetParam()), name, counts);
  }
};

std::string name_of(const testing::TestParamInfo<Parameter>& info) {
  return std::get<0>(info.param) + "_" + medium(info.param);
}

class Crashes : public Everywhere {};
// Stores have files of 8 MiB and more.
INSTANTIATE_TEST_SUITE_P(Stores, Crashes,
                         testing::Values(Parameter{"store_changes", false}, Parameter{"store_grows", false},
                                         Parameter{"store_copied", false}, Parameter{"store_killed", false},
                                         Parameter{"store_killed", true}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(System, Crashes, testing::Combine(testing::ValuesIn(subject_names(false)), testing::Bool()),
                         name_of);
TEST_P(Crashes, LeaveTheOldOrTheNewWhole) {
  prove("crashes", [](Subject& subject, const std::string& root, bool on_disk) {
    return crash_everywhere(subject, root, on_disk);
  });
}

Counts fail_with_all(Subject& subject, const std::string& root, bool on_disk) {
  return fail_everywhere(subject, root, on_disk, Errors::all);
}
Counts fail_alternately(Subject& subject, const std::string& root, bool on_disk) {
  return fail_everywhere(subject, root, on_disk, Errors::alternating);
}

class Faults : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(System, Faults, testing::Combine(testing::ValuesIn(subject_names(false)), testing::Bool()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Stores, Faults,
                         testing::Values(Parameter{"store_changes", false}, Parameter{"store_killed", false},
                                         Parameter{"store_killed", true}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, Faults, testing::Values(Parameter{"create_large", false}), name_of);
TEST_P(Faults, AreToldAndLoseNothing) {
  // What replaces a file or an object makes the calls of the subject that replaces nothing, which fail with every error there, and a
  // few more: one error a call will do. So it will for wide items, whose table makes the calls of one of narrow items, for the schemes that
  // group hashing was compared with, which make its calls, and for stores, whose files are large.
  const std::string& name = std::get<0>(GetParam());
  bool has_been = name.ends_with("_over") || name.ends_with("_replaced") || name.ends_with("_wide");
  for (const char* const kind : {"linear_", "pfht_", "path_", "store_"}) has_been = has_been || name.starts_with(kind);
  prove("faults", !has_been || is_long() ? fail_with_all : fail_alternately);
}

}  // namespace
}  // namespace holdfast::proof
