// power_cuts_test.cpp: each subject on persistent memory: the power is cut between any two fences of the shipped code, and again while
// what is left is opened. Nothing that was acknowledged is lost, and nothing is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "../minimum.hpp"
#include "../subjects.hpp"
#include "data_subject.hpp"
#include "proof/crashes.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr std::size_t kMostImages = 40, kMostRecoveries = 8;  // `make proof` tries all

struct DataDefinition {
  std::vector<DataStep> steps;
  bool used = false, killed = false;
};

const std::map<std::string, DataDefinition>& data_subjects() {
  static const std::map<std::string, DataDefinition> all = {
      {"log_of_threads",
       {{insert_entry("lh", 2, 20), insert_entry("lh", 2, 21), insert_entry("lh", 31, 22), remove_entry("lh", 2),
         insert_entry("lh", 2, 23), clear_place("lh", 2), insert_entry("lh", 2, 24), clear_log("lh"),
         insert_entry("lh", 1, 25), close_pool()}}},
      {"log_of_partitions",
       {{insert_entry("lp", 1, 20), insert_entry("lp", 0, 21), insert_entry("lp", 0, 22), remove_entry("lp", 0),
         insert_entry("lp", 0, 23), clear_place("lp", 0), insert_entry("lp", 2, 24), clear_log("lp"),
         insert_entry("lp", 1, 25), close_pool()}}},
      {"transactions",
       {{write_word("r", 1, 50), transact({{0, 20}, {1, 21}, {2, 22}, {3, 23}}), transact({{0, 30}, {3, 31}}, false),
         transact({{0, 40}, {0, 41}, {1, 42}}), write_word("r", 0, 43), close_pool()}}},
      {"transaction_killed",
       {{recover(), transact({{0, 11}, {2, 12}}), transact({{0, 13}, {1, 14}}, false), close_pool()}, false, true}},
      {"saves",
       {{save_state("c", 3, 1600), save_state("c", 4, 40), save_state("c", 5, 3000), save_state("c", 6, 900),
         close_pool()}}},
      {"saves_overlap",
       {{overlap_saves("c", 3, 1600), end_overlap("c"), save_state("c", 5), overlap_saves("c", 6, 900),
         end_overlap("c"), close_pool()}}},
      {"saves_in_used_space",
       {{save_state("c", 3), save_state("c", 4, 900), save_state("c", 5, 1600), save_state("c", 6, 20), close_pool()},
        true}},
      {"objects_in_used_space",
       {{drop_object("lh"), make_object("lh"), insert_entry("lh", 3, 20), drop_object("c"), make_object("c"),
         save_state("c", 3), make_object("rnew"), make_object("lp", true), insert_entry("lp", 2, 21), close_pool()},
        true}},
  };
  return all;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names = subject_names(false);
  for (const char* const store : {"store_changes", "store_killed"}) names.emplace_back(store);
  for (const auto& subject : data_subjects()) names.push_back(subject.first);
  return names;
}

std::unique_ptr<Subject> subject_of(const std::string& name) {
  const auto data = data_subjects().find(name);
  if (data == data_subjects().end()) return make_subject(name);
  const auto& [steps, used, killed] = data->second;
  return std::make_unique<DataSubject>(steps, used, killed);
}

class PowerCuts : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(System, PowerCuts, testing::ValuesIn(all_names()),
                         [](const auto& info) { return info.param; });

TEST_P(PowerCuts, TakeNothingThatWasAcknowledged) {
  const test::Folder root;
  const Counts counts = cut_power_everywhere(*subject_of(GetParam()), root.path(), kMostImages, kMostRecoveries);
  for (const std::string& wrong : counts.wrong) ADD_FAILURE() << wrong;
  expect_no_less("power", "dax", GetParam(), counts);
}

}  // namespace
}  // namespace holdfast::proof
