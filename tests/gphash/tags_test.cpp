// tags_test.cpp: tags, addressing and combining, against plain loops.
#include "structures/gphash/protocol/tags.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/combine.hpp"
#include "structures/gphash/protocol/address.hpp"

namespace holdfast::gphash {
namespace {

TEST(Tags, MatchesExactlyTheBytesThatAreEqual) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::uint64_t word = random();
    if (i % 2) word &= 0x0101'0101'0101'0101;  // neighbours that differ by one tempt a carry
    const auto tag = static_cast<std::uint8_t>(i % 2 ? random() % 2 : word >> (8 * (random() % 8)));
    std::uint32_t expected = 0;
    for (unsigned b = 0; b < 8; ++b) expected |= std::uint32_t{tag_at(word, b) == tag} << b;
    ASSERT_EQ(match_word(word, tag), expected) << std::hex << word << " " << int{tag};
  }
}

TEST(Tags, OfAKeyIsNeverAState) {
  std::set<int> seen;
  for (std::uint64_t hash = 0; hash < 256; ++hash) seen.insert(tag_of(hash));
  EXPECT_EQ(*seen.begin(), 2);
  EXPECT_EQ(*seen.rbegin(), 255);
}

template <class Shape>
void check_layout(View<Shape> view, unsigned top_level) {
  view.top_level = top_level;
  std::set<std::uint64_t> words;
  for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
    for (std::uint64_t bucket = 0; bucket < view.buckets(rank); ++bucket) {
      for (unsigned i = 0; i < view.words_per_bucket(); ++i) {
        const std::uint64_t at = view.tag_index(rank, bucket) + i;
        EXPECT_TRUE(words.insert(at).second) << "two buckets share tag word " << at;
        EXPECT_LT(at, view.reserved_index());
      }
    }
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(words.count(view.version_lock_index(random())), 0u) << "a stripe is no tag word";
  }
}

TEST(Layout, EveryBucketHasItsOwnTagWords) {
  check_layout(View<DefaultShape>{}, 6);
  check_layout(View<DefaultShape>{}, 1);
  for (const RuntimeShape shape : {RuntimeShape{1, 4, 8}, {4, 2, 4}, {1, 1, 32}, {2, 1, 12}, {5, 3, 2}}) {
    View<RuntimeShape> view;
    view.shape = shape;
    check_layout(view, 7);
  }
}

TEST(Address, LanesNameTheBucketsOfTheHash) {
  Slot slots0[64 * 8], slots1[32 * 8];
  View<DefaultShape> view;
  view.top_level = 6;
  view.seed = 99;
  view.level[0] = slots0;
  view.level[1] = slots1;
  for (std::uint64_t key = 1; key < 5000; ++key) {
    const Candidates<DefaultShape> candidates(view, key);
    const std::uint64_t first = candidates.location(0) >> 58, second = candidates.location(1) >> 58;
    EXPECT_EQ(candidates.slot(view, 0), slots0 + first * 8);
    EXPECT_EQ(candidates.slot(view, 15), slots0 + second * 8 + 7);
    EXPECT_EQ(candidates.slot(view, 16), slots1 + (first >> 1) * 8);
    EXPECT_EQ(candidates.slot(view, 31), slots1 + (second >> 1) * 8 + 7);
    LaneMask expected = 0x00ff00ff;
    if (first != second) expected |= 0x0000ff00;
    if (first >> 1 != second >> 1) expected |= 0xff000000;
    EXPECT_EQ(candidates.distinct(view), expected);
  }
}

TEST(Address, AnInsertTakesTheLeastLoadedBucket) {
  View<DefaultShape> view;
  view.top_level = 6;
  const Candidates<DefaultShape> candidates(view, 5);
  EXPECT_EQ(choose_lane(view, candidates, 0xffffffff), 0u);
  EXPECT_EQ(choose_lane(view, candidates, 0xfffffffe), 8u);   // the second bucket is emptier
  EXPECT_EQ(choose_lane(view, candidates, 0xff00f0f0), 24u);  // a shared bucket that is quite empty
  view.shared_bias = 5;
  EXPECT_EQ(choose_lane(view, candidates, 0xff00f0f0), 4u);
}

TEST(Address, AnInsertOfABatchOfLinesPrefersALineThatTheBatchWrites) {
  View<DefaultShape> view;
  view.top_level = 6;
  const Candidates<DefaultShape> candidates(view, 5);
  const auto choose = [&](LaneMask empty, LaneMask claimed) {
    return choose_lane_of_lines(view, candidates, empty & ~claimed, claimed);
  };
  EXPECT_EQ(choose(0xffffffff, 0), 0u);
  EXPECT_EQ(choose(0xffffffff, 1u << 9), 8u);       // one more than in the least loaded bucket
  EXPECT_EQ(choose(0xffffffff, 3u << 9), 8u);       // two more
  EXPECT_EQ(choose(0xffffffff, 7u << 9), 0u);       // three more are too many
  EXPECT_EQ(choose(0xffffffff, 15u << 8), 0u);      // a full line
  EXPECT_EQ(choose(0xffffffff, 1u << 9 | 1u), 1u);  // of two the less loaded; the first of equals
  EXPECT_EQ(choose(0xffffffff, 1u << 9 | 3u), 8u);
  EXPECT_EQ(choose(0xffffffff, 1u << 15), 12u);  // the line, not the bucket, is written
  EXPECT_EQ(choose(0x0000f0f0, 1u << 4), 5u);    // at half of the load: one more, no longer two
  EXPECT_EQ(choose(0x0000f0e0, 1u << 5), 12u);
  EXPECT_EQ(choose(0x0000c080, 1u << 6), 14u);  // with two slots left, none more
  EXPECT_EQ(choose(0x0000c0c0, 1u << 15), 6u);
  EXPECT_EQ(choose(0x80000000, 1u << 1), 31u);  // the only one
}

TEST(Combine, WrapsIntegersAndKeepsPaddingZero) {
  EXPECT_EQ(combine_word(0xffffffff, 1, {Combine::add, Element::u32}), 0u);
  EXPECT_EQ(combine_word(~0ull, 2, {Combine::add, Element::i64}), 1u);
  EXPECT_EQ(combine_word(~0ull, 2, {Combine::max, Element::i64}), 2u);
  EXPECT_EQ(combine_word(~0ull, 2, {Combine::max, Element::u64}), ~0ull);
  const auto f = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  EXPECT_EQ(combine_word(f(1.5f), f(2.25f), {Combine::add, Element::f32}), f(3.75f));
}

/// What a float's 16 bits of either kind say.
std::uint64_t f16s(float a, float b, float c, float d) {
  std::uint64_t word = 0;
  const float all[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) word |= std::uint64_t{to_half(all[i]).bits} << (16 * i);
  return word;
}

TEST(Combine, SumsOf16BitsAreRoundedOnceToEven) {
  const auto add = [](std::uint64_t a, std::uint64_t b, double scale, bool alone = false) {
    return combine_word(a, b, {Combine::add, Element::f16, scale, alone});
  };
  // From 2048 on fp16 counts in twos: a tie goes to the even neighbour.
  EXPECT_EQ(add(f16s(2048, 2050, 65504, -1), f16s(1, 1, 32, 1), 1), f16s(2048, 2052, INFINITY, 0));
  EXPECT_EQ(add(f16s(1, 1, 1, 0), f16s(1, 2, 3, 4), -0.5), f16s(0.5, 0, -0.5, -2));
  EXPECT_EQ(add(f16s(9, 9, 9, 9), f16s(1, 2, 3, 4), 0.25, true), f16s(0.25, 0.5, 0.75, 1));
  // 2048 + 0.5 × 3: the product is not rounded before the sum.
  EXPECT_EQ(add(f16s(2048, 0, 0, 0), f16s(3, 0, 0, 0), 0.5), f16s(2050, 0, 0, 0));
  EXPECT_EQ(combine_word(f16s(1, 2, 3, 4), f16s(2, 1, -3, 4), {Combine::max, Element::f16}), f16s(2, 2, 3, 4));
  EXPECT_EQ(combine_word(f16s(1, 2, 3, 4), f16s(2, 1, -3, 4), {Combine::min, Element::f16}), f16s(1, 1, -3, 4));
  const auto bf = [](float x) { return std::uint64_t{to_bfloat16(x).bits}; };
  EXPECT_EQ(combine_word(bf(256), bf(1), {Combine::add, Element::bf16}), bf(256));
  EXPECT_EQ(combine_word(bf(256), bf(3), {Combine::add, Element::bf16}), bf(260));
  EXPECT_EQ(combine_word(bf(256), bf(3), {Combine::add, Element::bf16, -2}), bf(250));
}

TEST(Combine, ScaledSumsAreFused) {
  const auto f = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  const float a = 0x1.000002p0f, b = 0x1.fffffep-1f, scale = 0x1.000004p0f;
  EXPECT_EQ(combine_word(f(a), f(b), {Combine::add, Element::f32, scale}), f(std::fma(b, scale, a)));
  EXPECT_EQ(combine_word(f(7), f(b), {Combine::add, Element::f32, 0.25, true}), f(b / 4));
}

}  // namespace
}  // namespace holdfast::gphash
