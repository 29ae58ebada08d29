// cache_view_test.cpp: where the copy of a slot's word is, for every width of keys.
#include "machine/cuda/cache_view.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::test {
namespace {

using machine::cuda::CacheView;

class CacheViews : public testing::TestWithParam<unsigned> {};

TEST_P(CacheViews, EveryWordOfASlotHasItsCopy) {
  const unsigned key_words = GetParam(), slot_words = index::slot_bytes(key_words) / 8;
  constexpr std::size_t kSlots = 1000;
  std::vector<std::uint64_t> pools[2], keys[2], words[2], wide[2];
  CacheView view;
  view.parts = 2;
  view.set_key_words(key_words);
  for (unsigned p = 0; p < 2; ++p) {
    pools[p].resize((kSlots + 1) * slot_words);  // what follows a part is not cached
    keys[p].resize(kSlots);
    words[p].resize(kSlots);
    wide[p].resize(kSlots * key_words);
    view.part[p] = {reinterpret_cast<const index::Slot*>(pools[p].data()), kSlots * slot_words * 8, keys[p].data(),
                    words[p].data(), key_words == 1 ? nullptr : wide[p].data()};
  }
  EXPECT_EQ(view.slot_words(), slot_words);
  for (unsigned p = 0; p < 2; ++p) {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t* const at = pools[p].data() + slot * slot_words;
      ASSERT_EQ(view.copy_of(at), &keys[p][slot]);
      ASSERT_EQ(view.copy_of(at + 1), &words[p][slot]);
      for (unsigned i = 0; i + 2 < slot_words; ++i)
        ASSERT_EQ(view.copy_of(at + 2 + i), &wide[p][slot * key_words + i]) << slot << " word " << i;
    }
    EXPECT_EQ(view.copy_of(pools[p].data() + kSlots * slot_words), nullptr);
  }
}

TEST_P(CacheViews, PlacesAreRightInTablesOfAnySize) {
  CacheView view;
  view.set_key_words(GetParam());
  const std::uint64_t words = view.slot_words();
  for (const std::uint64_t slot : {std::uint64_t{1}, std::uint64_t{12'345'678'901}, (std::uint64_t{1} << 48) - 1}) {
    for (std::uint64_t at = slot * words; at < (slot + 1) * words; ++at)
      ASSERT_EQ(high_product(at, view.per_slot), slot);
  }
}

INSTANTIATE_TEST_SUITE_P(KeyWords, CacheViews, testing::Values(1u, 2u, 3u, 4u, 8u, 15u, 16u));

}  // namespace
}  // namespace holdfast::test
