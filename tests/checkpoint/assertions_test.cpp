// assertions_test.cpp: broken preconditions of checkpoints end a checked build.
#include "support/assertions.hpp"

#include <vector>

#include "checkpoint/layout.hpp"
#include "checkpoint/pieces.hpp"

namespace holdfast::checkpoint {
namespace {

TEST(CheckpointAssertionDeathTest, WordsHaveTheirBits) {
  EXPECT_ASSERTION(word_of(kSequences, 0), "kSequences");
  EXPECT_ASSERTION(word_of(1, kMostCopies), "kMostCopies");
}

TEST(CheckpointAssertionDeathTest, TensorsAreOrderedAndNotEmpty) {
  std::byte bytes[256] = {};
  const std::vector<Placed> overlapping = {{bytes, 0, 200}, {bytes, 128, 8}}, empty = {{bytes, 0, 0}};
  EXPECT_ASSERTION(gathering_of(overlapping, 256), "tensor.offset");
  EXPECT_ASSERTION(gathering_of(empty, 128), "tensor.bytes");
  EXPECT_ASSERTION(gathering_of({}, 100), "kAlignment");
  EXPECT_ASSERTION(scattering_of({}, 0, kBlock / 2), "kBlock");
}

}  // namespace
}  // namespace holdfast::checkpoint
