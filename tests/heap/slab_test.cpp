// slab_test.cpp: the classes of cells, the words that name them, and pairs in them.
#include "heap/slab.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "structures/gphash/protocol/pair.hpp"
#include "support/lacks.hpp"

namespace holdfast::gphash {
namespace {

TEST(Classes, AreTheSmallestThatFitAndWasteLittle) {
  constexpr std::uint32_t kLargest = sizeof(PairHeader) + 2 * kMaxPart;
  for (std::uint32_t bytes = 1; bytes <= kLargest; ++bytes) {
    const unsigned c = heap::class_of(bytes);
    ASSERT_LT(c, heap::kClasses);
    ASSERT_GE(heap::class_bytes(c), bytes);
    if (c == 0) continue;
    ASSERT_LT(heap::class_bytes(c - 1), bytes) << "a smaller class would do";
    ASSERT_LT((heap::class_bytes(c) - bytes) * 5, heap::class_bytes(c)) << "a fifth of a cell is wasted";
  }
  for (unsigned c = 0; c < heap::kClasses; ++c) {
    EXPECT_EQ(heap::class_bytes(c) % 8, 0u);
    EXPECT_EQ(heap::class_of(heap::class_bytes(c)), c);
  }
}

TEST(Classes, LeaveLittleOfASlab) {
  for (unsigned c = 0; c < heap::kClasses; ++c) {
    const std::uint64_t used = heap::kSlabBytes / heap::class_bytes(c) * heap::class_bytes(c);
    EXPECT_GE(used * 100, heap::kSlabBytes * 92) << heap::class_bytes(c);
  }
}

TEST(CellWord, SaysWhereAndHowMuch) {
  for (const unsigned c : {0u, 1u, 7u, 48u, heap::kClasses - 1}) {
    for (const std::uint64_t begin : {std::uint64_t{0}, 3 * heap::kSlabBytes + 8, (std::uint64_t{1} << 46) - 8}) {
      for (const std::uint32_t left : {0u, 7u, 8u, heap::class_bytes(c) / 8}) {
        const auto word = heap::CellWord::of(begin, c, heap::class_bytes(c) - left);
        EXPECT_NE(word.word, 0u);
        EXPECT_EQ(word.size_class(), c);
        EXPECT_EQ(word.begin(), begin);
        EXPECT_EQ(word.left(), left / 8 * 8);
        EXPECT_EQ(word.pair_bytes(), heap::class_bytes(c) - left / 8 * 8);
      }
    }
  }
}

/// Has what SlabMemory lists and no other: that suffices for the directory of slabs.
struct Plain : pool::QuietMemory {
  static void store(std::uint64_t* word, std::uint64_t value) { *word = value; }
  static void flush(const void*, std::size_t) {}
  static void fence() {}
  static bool keeps(heap::Step) { return true; }
};
template <class M>
inline constexpr bool suffices = heap::SlabMemory<M>;
static_assert(HOLDFAST_NEEDS(Plain, load) && HOLDFAST_NEEDS(Plain, store) && HOLDFAST_NEEDS(Plain, keeps));
static_assert(HOLDFAST_NEEDS(Plain, flush) && HOLDFAST_NEEDS(Plain, fence));
static_assert(!heap::SlabMemory<pool::QuietMemory>, "which only reads");

class Heap : public testing::Test {
 protected:
  Heap() : bytes_(4 * heap::kSlabBytes / 8, 0) {
    view_.heap = reinterpret_cast<std::byte*>(bytes_.data());
    view_.cells = 4;
    view_.cell_bytes = heap::kSlabBytes;
    view_.seed = 7;
  }
  std::vector<std::uint64_t> bytes_;
  View<DefaultVariableShape> view_;
};

TEST_F(Heap, HasCellsOnlyWhereItsDirectorySaysSo) {
  const Plain memory;
  const std::uint64_t in_two =
      heap::CellWord::of(2 * heap::kSlabBytes + 64, 4, 60).word;  // the second cell of 64 bytes
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), in_two)) << "the slab has no class";
  heap::enter_slab(memory, view_.heap_view(), 2, 4);
  EXPECT_TRUE(heap::names_cell(memory, view_.heap_view(), in_two));
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), heap::CellWord::of(2 * heap::kSlabBytes + 32, 4, 60).word))
      << "no cell begins there";
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), heap::CellWord::of(2 * heap::kSlabBytes + 160, 5, 70).word))
      << "of another class";
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), heap::CellWord::of(0, 4, 60).word)) << "the directory";
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), heap::CellWord::of(4 * heap::kSlabBytes, 4, 60).word))
      << "behind the heap";
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), 0));
  EXPECT_FALSE(heap::names_cell(memory, view_.heap_view(), ~std::uint64_t{0}));
}

TEST_F(Heap, HoldsPairsAndNoticesEveryFlippedBit) {
  const Plain memory;
  heap::enter_slab(memory, view_.heap_view(), 1, heap::class_of(16 + 5 + 9));
  const auto* const key_bytes = reinterpret_cast<const std::byte*>("a key");
  const auto* const value_bytes = reinterpret_cast<const std::byte*>("its value");
  const Part key{key_bytes, 5}, value{value_bytes, 9};
  const PairHeader header = header_of(key, value);
  std::byte* const cell = view_.heap + heap::kSlabBytes;
  std::memcpy(cell, &header, sizeof header);
  std::memcpy(cell + 16, key.data, key.size);
  std::memcpy(cell + 21, value.data, value.size);
  const std::uint64_t word = heap::CellWord::of(heap::kSlabBytes, heap::class_of(30), 30).word;
  const std::uint64_t hash = hash_of(key, view_.seed);
  EXPECT_TRUE(is_whole_pair(memory, view_, hash, word));
  EXPECT_FALSE(is_whole_pair(memory, view_, hash + 1, word));
  const Pair pair = pair_at(memory, view_, word);
  EXPECT_EQ(std::memcmp(pair.key.data, "a key", pair.key.size), 0);
  EXPECT_EQ(std::memcmp(pair.value.data, "its value", pair.value.size), 0);
  for (unsigned bit = 0; bit < 8 * 30; ++bit) {
    cell[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const Pair damaged = pair_at(memory, view_, word);
    EXPECT_LE(sizeof(PairHeader) + damaged.key.size + damaged.value.size, heap::class_bytes(heap::class_of(30)));
    EXPECT_FALSE(is_whole_pair(memory, view_, hash, word)) << "bit " << bit;
    cell[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
}

TEST(HashOfBytes, TellsLengthsApart) {
  const std::byte zeros[16] = {};
  const auto hash = [&](std::uint32_t n) { return hash_of(Part{zeros, n}, 0x9e37'79b9'7f4a'7c15); };
  for (std::uint32_t a = 0; a < 16; ++a) {
    EXPECT_NE(hash(a), 0u);
    for (std::uint32_t b = 0; b < a; ++b) EXPECT_NE(hash(a), hash(b));
  }
}

}  // namespace
}  // namespace holdfast::gphash
