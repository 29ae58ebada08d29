// bulk_writer_test.cpp: what is written is there, however the medium takes it; threads end before an error is thrown on.
#include "pool/medium/bulk_writer.hpp"

#include <sys/mman.h>

#include <atomic>
#include <stdexcept>

#include "core/bits.hpp"
#include "core/random.hpp"
#include "pool/medium/mapping.hpp"
#include "pool_test.hpp"
#include "support/little_memory.hpp"

namespace holdfast::memory {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

/// Page-aligned memory with random bytes in some stretches.
class Source {
 public:
  explicit Source(std::uint64_t bytes) : bytes_(bytes) {
    at_ = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Source() { munmap(at_, bytes_); }
  void fill(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i + 8 <= end; i += 8) {
      const std::uint64_t word = random_();
      std::memcpy(at_ + i, &word, 8);
    }
  }
  std::byte* at() const { return at_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* at_;
  std::uint64_t bytes_;
  Random random_{3};
};

void expect_written(const std::string& folder, std::uint64_t granule) {
  const Folder here(folder);
  const std::string path = here / "a";
  Source source(9 * kMebibyte + 3 * kPage);
  source.fill(kMebibyte - 8, 2 * kMebibyte);              // a word before a full stretch
  source.fill(5 * kMebibyte - kPage, 5 * kMebibyte + 8);  // across a border
  source.fill(source.bytes() - 8, source.bytes());        // the last word of the short rest
  const File file = File::make(path, path);
  file.allocate(0, round_up(5 * kPage + source.bytes(), granule));
  BulkWriter writer(file, granule);
  writer.write(source.at(), source.bytes(), 5 * kPage);
  EXPECT_EQ(writer.written(), 4 * kMebibyte + 3 * kPage);
  const std::vector<char> bytes = read_all(path);
  ASSERT_GE(bytes.size(), 5 * kPage + source.bytes());
  for (std::uint64_t i = 0; i < 5 * kPage; ++i) ASSERT_EQ(bytes[i], 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 5 * kPage, source.at(), source.bytes()), 0);
}

TEST(BulkWriter, WritesPastThePageCacheOrThroughItOrByMapping) {
  for (const char* const folder : {"/dev/shm", "/tmp"}) {
    expect_written(folder, kPage);
    expect_written(folder, 2 * kPage);  // as a hugetlbfs is written
  }
}

TEST(BulkWriter, FallsBackWhereMemoryIsNotAligned) {
  const Folder folder("/tmp");
  Source source(2 * kMebibyte);
  source.fill(0, source.bytes());
  const File file = File::make(folder / "a", "a");
  file.allocate(0, kMebibyte);
  BulkWriter writer(file, kPage);
  writer.write(source.at() + 1, kMebibyte, 0);  // a direct write refuses such memory
  EXPECT_EQ(std::memcmp(read_all(folder / "a").data(), source.at() + 1, kMebibyte), 0);
}

TEST(InParallel, CoversEverythingOnceAndAsks) {
  std::vector<std::atomic<int>> touched(1003);
  std::uint64_t asked = 0, last = 0;
  EXPECT_TRUE(in_parallel(
      touched.size(), 10, 3,
      [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) ++touched[i];
      },
      [&](std::uint64_t done) {
        EXPECT_GE(done, last);
        if (asked == 0) {
          EXPECT_EQ(done, 0u);
        }
        ++asked;
        last = done;
        return true;
      }));
  EXPECT_GE(asked, 2u);
  EXPECT_EQ(last, touched.size());
  for (const auto& count : touched) ASSERT_EQ(count, 1);
}

TEST(InParallel, WithoutRoomForMoreThreadsThoseThatThereAreDoTheWork) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  const test::LittleMemory little;
  std::atomic<std::uint64_t> sum = 0;
  EXPECT_TRUE(in_parallel(
      1000, 1, 64, [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; },
      [](std::uint64_t) { return true; }));
  EXPECT_EQ(sum, 1000u);
}

TEST(InParallel, EndsWithAnErrorOrARefusal) {
  std::atomic<int> inside = 0;
  const auto fails = [&](std::uint64_t begin, std::uint64_t) {
    ++inside;
    if (begin == 50) throw std::runtime_error("fifty");
    --inside;
  };
  const auto yes = [](std::uint64_t) { return true; };
  EXPECT_THROW(in_parallel(1000, 10, 4, fails, yes), std::runtime_error);
  EXPECT_EQ(inside, 1) << "the others had ended";
  const auto nothing = [](std::uint64_t, std::uint64_t) {};
  EXPECT_FALSE(in_parallel(1000, 10, 4, fails, [](std::uint64_t) { return false; }));
  EXPECT_FALSE(in_parallel(1000, 10, 4, nothing, [](std::uint64_t done) { return done == 0; }));
  EXPECT_THROW(in_parallel(1000, 10, 4, nothing,
                           [](std::uint64_t done) -> bool {
                             if (done != 0) throw std::invalid_argument("no");
                             return true;
                           }),
               std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::memory
