// oracle.cpp: notes what is wrong.
#include "proof/kill/oracle.hpp"

namespace holdfast::proof::kill {
namespace {
constexpr std::size_t kMostFaults = 20;
}

void Findings::expect(bool holds, const std::string& what) {
  if (!holds && wrong_.size() < kMostFaults) wrong_.push_back(what);
}

void Findings::expect_sound(const char* check_errors, const PoolInfo& info) {
  expect(check_errors[0] == 0, std::string("the check found ") + check_errors);
  for (const ObjectInfo& object : info.objects) expect(object.damage.empty(), "inspection found " + object.damage);
}

}  // namespace holdfast::proof::kill
