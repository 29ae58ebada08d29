#include "structures/cuckoo/cpu/line_tile.hpp"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::cuckoo::cpu {
namespace {

TEST(LineTile, SeesWhatOneThreadSees) {
  constexpr BucketNumber kBuckets = 2;
  alignas(64) std::uint64_t cells[kBuckets * CpuMemory::kCells];
  std::uint64_t group = 0;
  const CpuMemory memory{cells, &group};
  // Halves that differ in one bit, at each end and where 16-bit packing saturates; a location may be any signature.
  constexpr std::uint32_t kHalves[] = {0, 1, 0x7fff, 0x8000, 0x0001'0000, 0x8000'0000, 0xffff'7fff, 0xffff'ffff};
  std::mt19937 random(1);
  const auto half = [&] { return kHalves[random() % std::size(kHalves)]; };
  for (unsigned round = 0; round < 20'000; ++round) {
    for (std::uint64_t& cell : cells) cell = random() % 4 == 0 ? kEmpty : entry_of(half(), half());
    const std::uint32_t signature = half();
    const std::uint64_t entry = round % 8 == 0 ? kEmpty : entry_of(signature, half());
    for (BucketNumber bucket = 0; bucket < kBuckets; ++bucket) {
      const OneThread one;
      EXPECT_EQ(kTile.location(memory, bucket, signature, true), one.location(memory, bucket, signature, true));
      EXPECT_EQ(kTile.cells_with(memory, bucket, entry, true), one.cells_with(memory, bucket, entry, true));
      EXPECT_EQ(kTile.location(memory, bucket, signature, false), kNone);
      EXPECT_EQ(kTile.cells_with(memory, bucket, entry, false), 0u);
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace holdfast::cuckoo::cpu
