// counts.cpp: keeps what the corruption tests counted, and writes it to HOLDFAST_RESULTS when all have run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "cases.hpp"
#include "proof/runs/results.hpp"

namespace holdfast::test::corrupt {
namespace {

std::map<std::string, Tally>& tallies() {
  static std::map<std::string, Tally> all;
  return all;
}

class Writer : public ::testing::Environment {
 public:
  void TearDown() override {
    const char* folder = std::getenv("HOLDFAST_RESULTS");
    if (folder == nullptr || tallies().empty()) return;
    proof::Results results("holdfast.corrupt/1");
    std::uint64_t cases = 0, opened = 0, wrong = 0;
    for (const auto& [group, tally] : tallies()) {
      results.add(group, tally.cases);
      cases += tally.cases;
      opened += tally.opened;
      wrong += tally.wrong.size();
    }
    results.add("cases", cases);
    results.add("opened", opened);
    results.add("every_bit", std::string(is_long() ? "yes" : "no"));
    results.add("violations", wrong);
    results.write(folder, "corrupt.json");
  }
};

const auto* const writer = ::testing::AddGlobalTestEnvironment(new Writer);  // GoogleTest owns it

}  // namespace

void keep(const std::string& group, const Tally& tally) {
  Tally& sum = tallies()[group];
  sum.cases += tally.cases;
  sum.opened += tally.opened;
  sum.reported += tally.reported;
  sum.wrong.insert(sum.wrong.end(), tally.wrong.begin(), tally.wrong.end());
}

}  // namespace holdfast::test::corrupt
