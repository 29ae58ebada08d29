// cache_view_test.cpp: where the copy of a slot's word is, for every width of keys, with maps and without.
#include "structures/gphash/cuda/cache_view.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::test {
namespace {

using gphash::cuda::CacheView;

/// Of a view without maps.
std::uint64_t* copy_in(const CacheView& view, const std::uint64_t* word) {
  return view.copy_of(word, [](std::uint64_t) {
    ADD_FAILURE() << "asked a map";
    return std::uint64_t{0};
  });
}

class CacheViews : public testing::TestWithParam<unsigned> {};

TEST_P(CacheViews, EveryWordOfASlotHasItsCopy) {
  const unsigned key_words = GetParam(), slot_words = gphash::slot_bytes(key_words) / 8;
  constexpr std::size_t kSlots = 1000;
  std::vector<std::uint64_t> pools[2], keys[2], words[2], wide[2];
  CacheView view;
  view.parts = 2;
  view.set_shape(key_words);
  for (unsigned p = 0; p < 2; ++p) {
    pools[p].resize((kSlots + 1) * slot_words);  // what follows a part is not cached
    keys[p].resize(kSlots);
    words[p].resize(kSlots);
    wide[p].resize(kSlots * key_words);
    view.part[p] = {reinterpret_cast<const gphash::Slot*>(pools[p].data()), kSlots * slot_words * 8, keys[p].data(),
                    words[p].data(), key_words == 1 ? nullptr : wide[p].data()};
  }
  EXPECT_EQ(view.slot_words(), slot_words);
  for (unsigned p = 0; p < 2; ++p) {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t* const at = pools[p].data() + slot * slot_words;
      ASSERT_EQ(copy_in(view, at), &keys[p][slot]);
      ASSERT_EQ(copy_in(view, at + 1), &words[p][slot]);
      for (unsigned i = 0; i + 2 < slot_words; ++i)
        ASSERT_EQ(copy_in(view, at + 2 + i), &wide[p][slot * key_words + i]) << slot << " word " << i;
    }
    EXPECT_EQ(copy_in(view, pools[p].data() + kSlots * slot_words), nullptr);
  }
}

/// Two levels of buckets of three slots, of which every other bucket has a copy, in the opposite order.
TEST_P(CacheViews, WordsOfABucketAreWhereItsMapSays) {
  const unsigned key_words = GetParam(), slot_words = gphash::slot_bytes(key_words) / 8;
  constexpr unsigned kSlots = 3;
  constexpr std::size_t kBuckets[] = {8, 4}, kPositions = 6;
  std::vector<std::uint64_t> keys(kPositions * kSlots), words(keys.size()), wide(keys.size() * key_words), pools[2];
  std::uint32_t map = 0;  // only that there is one
  CacheView view;
  view.parts = 2;
  view.set_shape(key_words, kSlots);
  view.buckets.map = &map;
  for (unsigned p = 0; p < 2; ++p) {
    pools[p].resize((kBuckets[p] * kSlots + 1) * slot_words);
    view.part[p] = {reinterpret_cast<const gphash::Slot*>(pools[p].data()),
                    kBuckets[p] * kSlots * slot_words * 8,
                    keys.data(),
                    words.data(),
                    wide.data(),
                    true,
                    p == 0 ? 0 : kBuckets[0]};
  }
  EXPECT_TRUE(view.partial());
  const auto position_of = [](std::uint64_t bucket) {
    return bucket % 2 == 0 ? kPositions - 1 - bucket / 2 : gphash::cuda::kNoPosition;
  };
  for (unsigned p = 0; p < 2; ++p) {
    for (std::size_t slot = 0; slot < kBuckets[p] * kSlots; ++slot) {
      const std::uint64_t bucket = view.part[p].first + slot / kSlots;
      const std::uint64_t* const at = pools[p].data() + slot * slot_words;
      EXPECT_EQ(view.bucket_of(reinterpret_cast<const gphash::Slot*>(at)), bucket);
      for (unsigned i = 0; i < slot_words; ++i) {
        const std::uint64_t copy = position_of(bucket) * kSlots + slot % kSlots;
        std::uint64_t* const expected = bucket % 2 != 0 ? nullptr
                                        : i == 0        ? &keys[copy]
                                        : i == 1        ? &words[copy]
                                                        : &wide[copy * key_words + i - 2];
        ASSERT_EQ(view.copy_of(at + i, position_of), expected) << slot << " word " << i;
      }
    }
    EXPECT_EQ(view.copy_of(pools[p].data() + kBuckets[p] * kSlots * slot_words, position_of), nullptr);
  }
}

TEST_P(CacheViews, PlacesAreRightInTablesOfAnySize) {
  CacheView view;
  view.set_shape(GetParam());
  const std::uint64_t words = view.slot_words();
  for (const std::uint64_t slot : {std::uint64_t{1}, std::uint64_t{12'345'678'901}, (std::uint64_t{1} << 48) - 1}) {
    for (std::uint64_t at = slot * words; at < (slot + 1) * words; ++at)
      ASSERT_EQ(high_product(at, view.per_slot), slot);
  }
}

INSTANTIATE_TEST_SUITE_P(KeyWords, CacheViews, testing::Values(1u, 2u, 3u, 4u, 8u, 15u, 16u));

}  // namespace
}  // namespace holdfast::test
