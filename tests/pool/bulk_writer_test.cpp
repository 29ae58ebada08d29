// bulk_writer_test.cpp: what is written is there, however the medium takes it; threads end before an error is thrown on.
#include "system/bulk_writer.hpp"

#include <sys/mman.h>

#include "core/bits.hpp"
#include "core/random.hpp"
#include "pool_test.hpp"
#include "system/mapping.hpp"

namespace holdfast::pool {
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
  const system::File file = system::File::make(path, path);
  file.allocate(0, round_up(5 * kPage + source.bytes(), granule));
  system::BulkWriter writer(file, granule);
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
  const system::File file = system::File::make(folder / "a", "a");
  file.allocate(0, kMebibyte);
  system::BulkWriter writer(file, kPage);
  writer.write(source.at() + 1, kMebibyte, 0);  // a direct write refuses such memory
  EXPECT_EQ(std::memcmp(read_all(folder / "a").data(), source.at() + 1, kMebibyte), 0);
}

}  // namespace
}  // namespace holdfast::pool
