// pieces_test.cpp: the plan of what a GPU moves: every byte once, large tensors by the copy engine, every wanted block once.
#include "checkpoint/pieces.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/bits.hpp"

namespace holdfast::checkpoint {
namespace {

/// Tensors side by side, as a copy has them, whose memory is far apart; every `nth` alone.
std::vector<Placed> placed(const std::vector<std::uint64_t>& sizes, std::uint64_t& end, unsigned nth = 1) {
  std::vector<Placed> all;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto* const memory = reinterpret_cast<std::byte*>((i + 1) << 40);
    if (sizes[i] != 0 && i % nth == 0) all.push_back({memory, offset, sizes[i]});
    offset = round_up(offset + sizes[i], kAlignment);
  }
  end = offset;
  return all;
}

constexpr std::uint64_t kHuge = (std::uint64_t{5} << 30) + 3;  // what follows lies beyond 2^32

std::vector<std::uint64_t> some_sizes(bool beyond_32_bits = false) {
  std::vector<std::uint64_t> sizes = {1,          127,        128,         129,        0,
                                      kPiece,     kPiece + 1, kBlock,      kLarge - 1, kLarge,
                                      kLarge + 3, kBlock - 1, 3 * kGather, 40,         kGather};
  if (beyond_32_bits) sizes.insert(sizes.begin() + 3, kHuge);
  for (std::uint64_t i = 0; i < 9'000; ++i) sizes.push_back(i * 7919 % 50'000);
  return sizes;
}

void expect_gathered(bool beyond_32_bits) {
  std::uint64_t end = 0;
  const std::vector<Placed> tensors = placed(some_sizes(beyond_32_bits), end);
  const Gathering made = gathering_of(tensors, end);
  std::size_t piece = 0, large = 0, tensor = 0;
  std::uint64_t at = 0, begin = 0;
  for (const GatherRange& range : made.ranges) {
    ASSERT_GT(range.end, begin);
    while (at < range.end) {  // what comes next is a piece or a large tensor of this stretch
      while (tensor + 1 < tensors.size() && tensors[tensor + 1].offset <= at) ++tensor;
      const Placed& its = tensors[tensor];
      if (large < range.large_end && made.large[large].offset == at) {
        ASSERT_GE(its.bytes, kLarge);
        ASSERT_EQ(made.large[large].memory, its.memory);
        at += made.large[large++].bytes;
      } else {
        ASSERT_LT(piece, range.pieces_end) << at;
        const Piece& next = made.pieces[piece++];
        ASSERT_EQ(next.offset, at);
        ASSERT_LE(next.bytes, kPiece);
        ASSERT_LT(next.zeros, kAlignment);
        if (next.bytes != 0) {
          ASSERT_LT(its.bytes, kLarge);
          ASSERT_EQ(next.memory, its.memory + (at - its.offset));
        }
        ASSERT_EQ(next.zeros != 0, next.offset + next.bytes == its.offset + its.bytes && its.bytes % kAlignment != 0);
        at += next.bytes + next.zeros;
      }
    }
    ASSERT_EQ(at, range.end);
    ASSERT_EQ(piece, range.pieces_end);
    ASSERT_EQ(large, range.large_end);
    ASSERT_TRUE(range.end - begin >= kGather || range.end == end);
    begin = range.end;
  }
  EXPECT_EQ(at, end);
  EXPECT_EQ(piece, made.pieces.size());
  EXPECT_EQ(made.large.size(), beyond_32_bits ? 5u : 4u);
}

TEST(Pieces, AGatheringWritesEveryByteOnceInOrderOfRanges) {
  expect_gathered(false);
  expect_gathered(true);
}

void expect_whole(const std::vector<Placed>& tensors, std::uint64_t data_bytes, std::uint64_t most) {
  const Scattering made = scattering_of(tensors, data_bytes, most);
  std::uint64_t begin = 0;
  std::size_t piece = 0, tensor = 0;
  std::uint64_t done = 0;  // of the tensor
  for (const Window& window : made.windows) {
    ASSERT_GE(window.begin, begin) << "a block twice";
    ASSERT_GT(window.end, window.begin);
    ASSERT_LE(window.end - window.begin, most);
    ASSERT_EQ(window.begin % kBlock, 0u);
    ASSERT_TRUE(window.end % kBlock == 0 || window.end == data_bytes);
    ASSERT_EQ(window.pieces_begin, piece);
    std::uint64_t touched = window.begin;  // every block has a byte that is wanted
    for (; piece < window.pieces_end; ++piece) {
      const Piece& next = made.pieces[piece];
      const Placed& its = tensors[tensor];
      ASSERT_EQ(next.offset, its.offset + done);
      ASSERT_EQ(next.memory, its.memory + done);
      ASSERT_GE(next.offset, window.begin);
      ASSERT_LE(next.offset + next.bytes, window.end);
      ASSERT_LE(next.offset / kBlock * kBlock, touched);
      touched = round_up(next.offset + next.bytes, kBlock);
      if ((done += next.bytes) == its.bytes) ++tensor, done = 0;
    }
    ASSERT_EQ(std::min(touched, data_bytes), window.end);
    begin = window.end;
  }
  EXPECT_EQ(piece, made.pieces.size());
  EXPECT_EQ(tensor, tensors.size());
}

TEST(Pieces, AScatteringHasEveryWantedBlockOnce) {
  for (const unsigned nth : {1u, 2u, 3u, 50u, 4000u}) {
    for (const std::uint64_t most : {kBlock, 4 * kBlock, kGather}) {
      std::uint64_t end = 0;
      const std::vector<Placed> tensors = placed(some_sizes(), end, nth);
      expect_whole(tensors, end, most);
    }
  }
  std::uint64_t end = 0;
  const std::vector<Placed> beyond = placed(some_sizes(true), end);
  expect_whole(beyond, end, kGather);
  EXPECT_TRUE(scattering_of({}, 0, kGather).windows.empty());
  EXPECT_TRUE(gathering_of({}, 0).ranges.empty());
}

}  // namespace
}  // namespace holdfast::checkpoint
