// mapped_heap_test.cpp: the heap of an object that is no table: it grows in place, moves, shrinks, and is the same when it is opened again.
#include "heap/mapped_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "../pool/pool_test.hpp"
#include "core/random.hpp"
#include "heap_object.hpp"

namespace holdfast::heap {
namespace {

using pool::Access;
using pool::expect_error;

constexpr std::uint64_t kSmallReserve = 4 * kSlabBytes;

std::uint64_t* word_of(const HeapObject& object, std::uint64_t slab) {
  return reinterpret_cast<std::uint64_t*>(object.heap.base() + slab * kSlabBytes + 64);
}

void expect_words(const HeapObject& object, std::uint64_t slabs) {
  for (std::uint64_t slab = 0; slab < slabs; ++slab) ASSERT_EQ(*word_of(object, slab), slab + 1) << "slab " << slab;
}

void write_words(const HeapObject& object, std::uint64_t from) {
  for (std::uint64_t slab = from; slab < object.heap.view().count; ++slab) *word_of(object, slab) = slab + 1;
}

class MappedHeaps : public testing::TestWithParam<const char*> {
 protected:
  /// A pool with one object.
  std::unique_ptr<HeapObject> make(std::uint64_t slabs, const Limits& limits = {.advice = "use a second one"}) {
    pool::NewPool pool(path_, false);
    auto object = HeapObject::create(pool.pool(), slabs * kSlabBytes, limits);
    pool.publish();
    return object;
  }

  const pool::Folder folder_{GetParam()};
  const std::string path_ = folder_ / "a.hold";
};
INSTANTIATE_TEST_SUITE_P(Media, MappedHeaps, testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param) == "/tmp" ? "file" : "shm"; });

TEST_P(MappedHeaps, AreHandedOutInWholeSlabs) {
  const auto object = make(2);
  const View view = object->heap.view();
  EXPECT_EQ(view.base, object->heap.base());
  EXPECT_EQ(view.count, 2u);
  EXPECT_EQ(view.slab_bytes(), kSlabBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.base) % kSlabBytes, 0u) << "a slab fits a huge page";
  object->heap.grow(2 * kSlabBytes + pool::kPage, 2 * kSlabBytes + pool::kPage);
  EXPECT_EQ(object->heap.view().count, 2u) << "a part of a slab is none";
  object->heap.grow(3 * kSlabBytes, 3 * kSlabBytes);
  EXPECT_EQ(object->heap.view().count, 3u);
}

TEST_P(MappedHeaps, GrowInPlaceAndAreThereAfterReopening) {
  const auto limits = Limits{.advice = "use a second one"};
  auto object = make(1, limits);
  const std::byte* const base = object->heap.base();
  write_words(*object, 0);
  for (std::uint64_t slabs = 2; slabs <= 6; ++slabs) {
    object->end_adjacency();
    object->heap.grow(slabs * kSlabBytes, slabs * kSlabBytes);
    EXPECT_EQ(object->heap.base(), base);
    ASSERT_EQ(object->heap.view().count, slabs);
    write_words(*object, slabs - 1);
  }
  EXPECT_GT(object->pieces(), 1u) << "what is meant to be tested is a heap in pieces";
  object.reset();
  object = HeapObject::open(path_, limits);
  EXPECT_EQ(object->heap.bytes(), 6 * kSlabBytes);
  expect_words(*object, 6);
  for (const pool::Extent& piece : object->pool().directory()->extents_of(object->number(), kRole)) {
    std::uint64_t stored = 0, seen = 0;
    ASSERT_EQ(object->pool().file().read(&stored, 8, piece.offset + 64), 8u);
    std::memcpy(&seen, object->address_of(piece) + 64, 8);
    EXPECT_EQ(seen, stored) << "piece " << piece.index;
  }
}

TEST_P(MappedHeaps, MoveWhereTheAddressSpaceIsTooSmall) {
  const auto object = make(1, {.least_reserve = kSmallReserve, .advice = ""});
  write_words(*object, 0);
  std::vector<std::pair<void*, std::size_t>> ranges;
  object->heap.on_range([&](void* address, std::size_t bytes) { ranges.emplace_back(address, bytes); },
                        [&](void* address, std::size_t bytes) { std::erase(ranges, std::pair(address, bytes)); });
  const View before = object->heap.view();
  object->heap.grow(10 * kSlabBytes, 10 * kSlabBytes);
  const View after = object->heap.view();
  EXPECT_NE(after.base, before.base) << "so a view is fetched for each batch";
  EXPECT_EQ(after.count, 10u);
  EXPECT_EQ(*word_of(*object, 0), 1u);
  std::uint64_t announced = 0;
  for (const auto& [address, bytes] : ranges) {
    EXPECT_GE(address, after.base);
    announced += bytes;
  }
  EXPECT_EQ(announced, object->heap.bytes()) << "what was announced before is gone";
  object->heap.on_range({}, {});
}

TEST_P(MappedHeaps, ShrinkDurablyAndGrowAgain) {
  const Limits limits{.advice = "use a second one"};
  auto object = make(2, limits);
  object->end_adjacency();
  object->heap.grow(6 * kSlabBytes, 6 * kSlabBytes);
  object->end_adjacency();  // so that cutting the file off does not suffice
  ASSERT_EQ(object->pieces(), 2u);
  write_words(*object, 0);
  std::vector<std::pair<void*, std::size_t>> ranges;
  object->heap.on_range([&](void* address, std::size_t bytes) { ranges.emplace_back(address, bytes); },
                        [&](void* address, std::size_t bytes) { std::erase(ranges, std::pair(address, bytes)); });
  const auto announced = [&] {
    std::uint64_t bytes = 0;
    for (const auto& range : ranges) bytes += range.second;
    return bytes;
  };
  const std::uint64_t allocated = object->pool().file().facts().allocated;
  object->heap.shrink(4 * kSlabBytes);  // within the second piece
  EXPECT_EQ(object->heap.view().count, 4u);
  EXPECT_EQ(object->extent_bytes(), 4 * kSlabBytes);
  EXPECT_EQ(announced(), 4 * kSlabBytes);
  EXPECT_LE(object->pool().file().facts().allocated, allocated - 2 * kSlabBytes) << "the medium has it back";
  expect_words(*object, 4);
  object->heap.shrink(kSlabBytes);  // within the first
  EXPECT_EQ(object->pieces(), 1u);
  EXPECT_EQ(object->heap.bytes(), kSlabBytes);
  EXPECT_EQ(announced(), kSlabBytes);
  expect_words(*object, 1);
  object.reset();
  object = HeapObject::open(path_, limits);
  EXPECT_EQ(object->heap.bytes(), kSlabBytes);
  expect_words(*object, 1);
  object->heap.grow(8 * kSlabBytes, 8 * kSlabBytes);
  write_words(*object, 1);
  expect_words(*object, 8);
  expect_error<InvalidArgument>([&] { object->heap.shrink(9 * kSlabBytes); }, "cannot shrink to");
  expect_error<InvalidArgument>([&] { object->heap.shrink(7); }, "in whole pages");
  EXPECT_EQ(object->heap.bytes(), 8 * kSlabBytes);
}

TEST_P(MappedHeaps, StopAtTheirLimit) {
  const auto object = make(2, {.max_bytes = 4 * kSlabBytes, .advice = "use a second one"});
  EXPECT_EQ(object->heap.most_with(100 * kSlabBytes), 4 * kSlabBytes);
  object->heap.grow(3 * kSlabBytes, 100 * kSlabBytes);
  EXPECT_EQ(object->heap.view().count, 4u) << "as much as there may be";
  expect_error<NoSpace>([&] { object->heap.grow(5 * kSlabBytes, 5 * kSlabBytes); }, "use a second one");
  EXPECT_EQ(object->heap.view().count, 4u);
}

TEST_P(MappedHeaps, DoNotChangeWhereTheyAreOnlyRead) {
  make(3)->sync();
  const auto object = HeapObject::open(path_, {}, Access::read_only);
  EXPECT_THROW(object->heap.grow(4 * kSlabBytes, 4 * kSlabBytes), ReadOnly);
  EXPECT_THROW(object->heap.shrink(kSlabBytes), ReadOnly);
  EXPECT_EQ(object->heap.view().count, 3u);
}

/// A copy without the blocks of slabs that are zero: readers see zeros, and a writer takes the space before it stores there.
TEST_P(MappedHeaps, ReadHolesAsZerosAndFillThemForAWriter) {
  {
    const auto object = make(6);
    *word_of(*object, 2) = 3;
    object->sync();
  }
  const pool::Extent piece = pool::read_pool(system::File::open(path_, false)).directory.extents_of(1, kRole).at(0);
  system::File::open(path_, true).punch(piece.offset + 4 * kSlabBytes, 2 * kSlabBytes);
  const auto allocated = [&] { return system::File::open(path_, false).facts().allocated; };
  const std::uint64_t sparse = allocated();
  {
    const auto object = HeapObject::open(path_, {}, Access::read_only);
    ASSERT_EQ(object->heap.view().count, 6u);
    EXPECT_EQ(*word_of(*object, 2), 3u);
    EXPECT_EQ(*word_of(*object, 4), 0u);
  }
  EXPECT_EQ(allocated(), sparse) << "reading takes no space";
  const auto object = HeapObject::open(path_, {});
  EXPECT_GE(allocated(), sparse + 2 * kSlabBytes);
  EXPECT_EQ(*word_of(*object, 2), 3u);
}

TEST_P(MappedHeaps, SurviveRandomGrowthAndShrinking) {
  Random random(3);
  const Limits limits{.least_reserve = kSmallReserve, .advice = ""};
  auto object = make(1, limits);
  write_words(*object, 0);
  unsigned moves = 0, shrinks = 0;
  for (int step = 0; step < 60; ++step) {
    const std::uint64_t slabs = object->heap.view().count;
    const std::byte* const base = object->heap.base();
    if (random.below(4) == 0) object->end_adjacency();
    if (slabs > 12 || (slabs > 1 && random.below(3) == 0)) {
      object->heap.shrink((1 + random.below(slabs - 1)) * kSlabBytes);
      ++shrinks;
    } else {
      object->heap.grow((slabs + 1) * kSlabBytes, (slabs + 1 + random.below(3)) * kSlabBytes);
      write_words(*object, slabs);
    }
    moves += object->heap.base() != base;
    if (random.below(6) == 0) {
      object.reset();
      object = HeapObject::open(path_, limits);
    }
    ASSERT_EQ(object->extent_bytes(), object->heap.bytes());
    ASSERT_NO_FATAL_FAILURE(expect_words(*object, object->heap.view().count)) << "step " << step;
  }
  EXPECT_GT(moves, 0u);
  EXPECT_GT(shrinks, 5u);
}

}  // namespace
}  // namespace holdfast::heap
