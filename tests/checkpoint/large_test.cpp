// large_test.cpp: states of more than 2^32 bytes: where their tensors lie, and the checksums of blocks far behind, by bases that are
// no memory.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "checkpoint/blocks.hpp"
#include "checkpoint/catalogue.hpp"
#include "core/bits.hpp"
#include "core/checksum.hpp"
#include "pool/copies.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// What a catalogue says of states whose tensors lie beyond 2^32 bytes, and of one larger than that.
TEST(LargeStates, HaveTheirTensorsWhereTheyWerePlaced) {
  const std::vector<std::uint64_t> sizes{5 * kGiB, 3, 7, 4 * kGiB + 1, 8, 0, 200, kGiB / 2};
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto* const at = reinterpret_cast<std::byte*>((i + 1) << 40);
    tensors.push_back({"tensor " + std::to_string(i), ElementType::u8, {sizes[i], 1}, at, i % 2 == 1});
  }
  const auto layout = std::make_shared<const Layout>(layout_of(tensors));
  std::vector<std::size_t> order;  // those of a GPU first
  for (const std::size_t rest : {1, 0}) {
    for (std::size_t i = rest; i < sizes.size(); i += 2) order.push_back(i);
  }
  std::vector<std::uint64_t> offsets(sizes.size());
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    offsets[i] = end;
    end = round_up(end + sizes[i], kAlignment);
  }
  EXPECT_EQ(layout->data_bytes, end);
  EXPECT_GT(layout->device_bytes, 4 * kGiB);
  EXPECT_EQ(layout->device_blocks(), layout->device_bytes / kBlock);
  for (const auto& side : {layout->device, layout->host}) {
    for (const Placed& placed : side) {
      const std::size_t i = (reinterpret_cast<std::uintptr_t>(placed.memory) >> 40) - 1;
      EXPECT_EQ(placed.offset, offsets[i]);
      EXPECT_EQ(placed.bytes, sizes[i]);
    }
  }

  Plan plan(layout, "text");
  const std::uint64_t blocks = blocks_of(end);
  EXPECT_EQ(blocks, (end + kBlock - 1) / kBlock);
  EXPECT_GE(plan.bytes(), end + 8 * blocks);
  std::vector<std::byte> copy(plan.header.data_offset);
  plan.write_catalogue(copy.data());
  EXPECT_EQ(plan.parts(copy.data()).data, copy.data() + plan.header.data_offset);
  plan.header.catalogue_checksum =
      checksum(copy.data() + sizeof(CopyHeader), plan.sums_offset() + 8 * blocks - sizeof(CopyHeader));
  const Catalogue found = read_catalogue(copy.data(), plan.header, plan.bytes());
  ASSERT_EQ(found.damage, "");
  ASSERT_EQ(found.tensors.size(), sizes.size());
  EXPECT_EQ(found.text, "text");
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::size_t i = order[n];
    EXPECT_EQ(found.tensors[n].name, tensors[i].name);
    EXPECT_EQ(found.tensors[n].bytes, sizes[i]);
    EXPECT_EQ(found.offsets[n], offsets[i]);
    EXPECT_EQ(found.tensors[n].data, copy.data() + plan.header.data_offset + offsets[i]);
  }
  EXPECT_NE(read_catalogue(copy.data(), plan.header, plan.bytes() - 1).damage, "") << "it does not fit";
}

/// Blocks whose data lie beyond 2^32 bytes, and those whose numbers do: of a copy that begins so far before them.
TEST(LargeStates, HaveChecksumsOfTheirFarBlocks) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "the copy would begin before address 0";
#endif
  constexpr std::uint64_t kFew = 5;
  std::vector<std::byte> memory(kFew * kBlock);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = std::byte(i * 31 + i / kBlock);
  for (const std::uint64_t first : {4 * kGiB / kBlock - 2, 4 * kGiB / kBlock + 7, 4 * kGiB + 1}) {
    const std::uint64_t last = first + kFew, bytes = last * kBlock - 100;
    const auto base = reinterpret_cast<std::uintptr_t>(memory.data()) - first * kBlock;
    const auto* const data = reinterpret_cast<const std::byte*>(base);
    std::vector<std::uint64_t> sums(kFew + 2, 77);
    auto* const of_first = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(&sums[1]) - first * 8);
    sum_blocks(data, bytes, first, last, of_first);
    EXPECT_EQ(sums.front(), 77u);
    EXPECT_EQ(sums.back(), 77u);
    for (std::uint64_t i = 0; i < kFew; ++i) {
      EXPECT_EQ(sums[1 + i], block_checksum(&memory[i * kBlock], i + 1 == kFew ? kBlock - 100 : kBlock)) << i;
    }
    EXPECT_FALSE(damaged_block(data, bytes, first, last, of_first));
    for (std::uint64_t i = 0; i < kFew; ++i) {
      sums[1 + i] ^= 4;
      EXPECT_EQ(damaged_block(data, bytes, first, last, of_first), first + i);
      sums[1 + i] ^= 4;
    }
  }
}

}  // namespace
}  // namespace holdfast::checkpoint
