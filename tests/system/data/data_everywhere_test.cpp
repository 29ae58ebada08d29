// data_everywhere_test.cpp: regions, logs, transactions and checkpoints are crashed at every call of the system, and each call fails; on
// a disk as in shared memory, and in space that others have used.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "../minimum.hpp"
#include "data_subject.hpp"
#include "proof/crashes.hpp"
#include "proof/faults.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

DataSubject make_data_subject(const std::string& name) {
  if (name == "region_and_logs") {
    return DataSubject({write_word("r", 0, 11), insert_entry("lh", 0, 12), close_object("r"), remove_entry("lh", 1),
                        insert_entry("lp", 0, 13), clear_place("lh", 0), insert_entry("lh", 31, 15),
                        write_word("r", 3, 14), close_pool()});
  }
  if (name == "transactions") {
    return DataSubject({transact({{0, 11}, {2, 12}}), transact({{0, 13}, {2, 14}}, false), close_object("lt"),
                        transact({{0, 15}, {2, 16}})});
  }
  if (name == "transaction_killed") {
    return DataSubject({recover(), transact({{0, 11}, {2, 12}}), close_pool()}, false, true);
  }
  if (name == "checkpoint_in_used_space") {
    return DataSubject({save_state("c", 3), save_state("c", 4), save_state("c", 5, 900), close_pool()}, true);
  }
  if (name == "saves_overlap") {
    return DataSubject(
        {overlap_saves("c", 3, 900), end_overlap("c"), save_state("c", 5), overlap_saves("c", 6), end_overlap("c")});
  }
  return DataSubject({make_object("lh", true), make_object("rnew"), make_object("cnew"), save_state("cnew", 7)}, true);
}

using DataParameter = std::tuple<std::string, bool>;  // subject, on a disk

class DataEverywhere : public testing::TestWithParam<DataParameter> {
 protected:
  void prove(const char* proof, Counts (*everywhere)(Subject&, const std::string&, bool)) {
    const test::Folder root;
    const auto& [name, on_disk] = GetParam();
    DataSubject subject = make_data_subject(name);
    const Counts counts = everywhere(subject, root.path(), on_disk);
    for (const std::string& wrong : counts.wrong) ADD_FAILURE() << wrong;
    expect_no_less(proof, on_disk ? "file" : "shm", name, counts);
  }
};

std::string data_name(const testing::TestParamInfo<DataParameter>& info) {
  return std::get<0>(info.param) + (std::get<1>(info.param) ? "_file" : "_shm");
}
const auto kData =
    testing::Combine(testing::Values("region_and_logs", "transactions", "transaction_killed",
                                     "checkpoint_in_used_space", "objects_in_used_space", "saves_overlap"),
                     testing::Bool());

class DataCrashes : public DataEverywhere {};
INSTANTIATE_TEST_SUITE_P(System, DataCrashes, kData, data_name);
TEST_P(DataCrashes, LeaveEachCallWholeOrNotThere) {
  prove("crashes", [](Subject& subject, const std::string& root, bool on_disk) {
    return crash_everywhere(subject, root, on_disk, {.all = 32, .samples = 4});
  });
}

class DataFaults : public DataEverywhere {};
INSTANTIATE_TEST_SUITE_P(System, DataFaults, kData, data_name);
TEST_P(DataFaults, AreToldAndLoseNothing) {
  prove("faults", [](Subject& subject, const std::string& root, bool on_disk) {
    return fail_everywhere(subject, root, on_disk, Errors::alternating);
  });
}

}  // namespace
}  // namespace holdfast::proof
