// bench_test.cpp: what the measurements of bench/structures rely on: MD5, and the simulated cache.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "../../bench/structures/cache.hpp"
#include "../../bench/structures/md5.hpp"

namespace holdfast::bench::structures {
namespace {

std::string digest_of(const std::string& text) {
  const auto digest = md5(text.data(), text.size());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(digest.data());
  std::string hex;
  for (std::size_t i = 0; i < sizeof digest; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    hex += two;
  }
  return hex;
}

/// The test suite of RFC 1321, and lengths around a block.
TEST(StructuresBench, ComputesMd5) {
  EXPECT_EQ(digest_of(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(digest_of("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(digest_of("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest_of("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(digest_of("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
  EXPECT_EQ(digest_of(std::string(55, 'a')), "ef1772b6dff9a122358552954ad0df65");
  EXPECT_EQ(digest_of(std::string(56, 'a')), "3b0c8ac703f828b04c6c197006d17218");
  EXPECT_EQ(digest_of(std::string(64, 'a')), "014842d480b571495a4a0363793f7367");
}

const void* line(std::uintptr_t number) { return reinterpret_cast<const void*>(number * 64 + 8); }

TEST(StructuresBench, SimulatesACacheOfLeastRecentlyUsedLines) {
  SimulatedCache cache(4 * 64, 2);  // two sets: of the even lines, of the odd ones
  EXPECT_TRUE(cache.access(line(0)));
  EXPECT_TRUE(cache.access(line(2)));
  EXPECT_FALSE(cache.access(line(0)));
  EXPECT_TRUE(cache.access(line(1)));
  EXPECT_TRUE(cache.access(line(4)));  // 2 goes, which is used least recently
  EXPECT_FALSE(cache.access(line(0)));
  EXPECT_TRUE(cache.access(line(2)));
  EXPECT_FALSE(cache.access(line(1)));
  cache.flush(line(2));
  cache.flush(line(6));  // is not there
  EXPECT_FALSE(cache.access(line(0)));
  EXPECT_TRUE(cache.access(line(4)));  // where 2 was: nothing goes
  EXPECT_FALSE(cache.access(line(0)));
}

/// As large as the paper's: 15 MB.
TEST(StructuresBench, SimulatesTheCacheOfThePaper) {
  SimulatedCache cache;
  constexpr std::uintptr_t kLines = (15 << 20) / 64;
  for (std::uintptr_t i = 0; i < kLines; ++i) ASSERT_TRUE(cache.access(line(i)));
  for (std::uintptr_t i = 0; i < kLines; ++i) ASSERT_FALSE(cache.access(line(i)));
  EXPECT_TRUE(cache.access(line(kLines)));
  EXPECT_TRUE(cache.access(line(0)));
}

}  // namespace
}  // namespace holdfast::bench::structures
