// assertions_test.cpp: broken preconditions of the CPU's machine end a checked build.
#include "support/assertions.hpp"

#include "structures/gphash/cpu/level_maintenance.hpp"

namespace holdfast::gphash::cpu {
namespace {

TEST(CpuAssertionDeathTest, PartsAreThoseThatThereAre) {
  EXPECT_EQ(part_of(1000, 1, 2).second, 1000u);
  EXPECT_ASSERTION(part_of(1000, 2, 2), "i < n");
}

}  // namespace
}  // namespace holdfast::gphash::cpu
