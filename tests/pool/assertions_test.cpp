// assertions_test.cpp: broken preconditions of a pool's parts end a checked build.
#include "support/assertions.hpp"

#include "pool/copies.hpp"
#include "pool/directory.hpp"
#include "pool/medium/persist.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::pool {
namespace {

Directory with_one_extent() {
  Directory directory;
  directory.add({kFirstExtent, 2 * kPage, 1, kPagesRole, 0});
  return directory;
}

TEST(PoolAssertionDeathTest, ExtentsDoNotOverlap) {
  Directory directory = with_one_extent();
  directory.add({kFirstExtent + 2 * kPage, kPage, 1, 1, 0});  // right behind it
  EXPECT_ASSERTION(directory.add({kFirstExtent + kPage, kPage, 1, 1, 1}), "extent.offset");
  Directory other = with_one_extent();
  EXPECT_ASSERTION(other.add({kFirstExtent - kPage, 2 * kPage, 1, 1, 1}), "at->offset");
}

struct NoMemory {
  void store(std::uint64_t*, std::uint64_t) const {}
  void flush(const void*, std::size_t) const {}
  void fence() const {}
};

TEST(PoolAssertionDeathTest, WordsAreStoredWhole) {
  char bytes[16] = {};
  EXPECT_ASSERTION(store_words(NoMemory{}, bytes, bytes, 12), "bytes % 8");
}

}  // namespace
}  // namespace holdfast::pool
