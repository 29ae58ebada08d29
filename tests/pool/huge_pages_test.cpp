// huge_pages_test.cpp: a pool in memory lies in huge pages where the kernel has them, and holds the same bytes.
#include "system/huge_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "pool_test.hpp"
#include "system/mapping.hpp"

namespace holdfast::pool {
namespace {

/// A file in memory without a name.
class MemoryFile {
 public:
  explicit MemoryFile(std::uint64_t bytes) : fd_(memfd_create("holdfast-test", 0)) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("no memfd");
  }
  ~MemoryFile() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Whether there are as many now. Memory may be too broken up, or others may want it.
bool kernel_gives_huge_pages(std::uint64_t bytes) {
  const MemoryFile file(bytes);
  return system::take_huge_pages(file.fd(), 0, bytes);
}

/// Bytes of this process's mapping around `address` that the hardware translates by huge pages.
std::uint64_t huge_bytes_around(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long first = 0, last = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
      inside = first <= wanted && wanted < last;
    } else if (inside && (std::sscanf(line.c_str(), "ShmemPmdMapped: %llu", &kib) == 1 ||
                          std::sscanf(line.c_str(), "FilePmdMapped: %llu", &kib) == 1)) {
      bytes += kib * 1024;
    }
  }
  return bytes;
}

TEST(HugePages, KeepWhatIsThereAndFillHolesWithZeroes) {
  const std::uint64_t bytes = 3 * system::kHugePage + 3 * kPage;
  const MemoryFile file(bytes);
  for (std::uint64_t at = kPage; at < bytes; at += 7 * kPage) {
    ASSERT_EQ(pwrite(file.fd(), &at, sizeof at, static_cast<off_t>(at)), 8);
  }
  system::take_huge_pages(file.fd(), kPage, bytes - kPage);
  std::vector<std::uint64_t> words(bytes / 8);
  ASSERT_EQ(pread(file.fd(), words.data(), bytes, 0), static_cast<ssize_t>(bytes));
  for (std::uint64_t at = 0; at < bytes; at += 8) {
    ASSERT_EQ(words[at / 8], at % (7 * kPage) == kPage ? at : 0) << "at " << at;
  }
}

TEST(HugePages, ARangeThatHoldsNoneIsLeftAlone) {
  const MemoryFile file(4 * system::kHugePage);
  EXPECT_TRUE(system::take_huge_pages(file.fd(), 0, 0));
  EXPECT_TRUE(system::take_huge_pages(file.fd(), kPage, system::kHugePage));
  struct stat status = {};
  ASSERT_EQ(fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_blocks, 0);
}

TEST(HugePages, AFileThatCannotHaveThemIsLeftAlone) {
  const Folder folder("/tmp");
  const std::string path = folder / "small";
  write_all(path, std::vector<char>(2 * system::kHugePage, 'x'));
  const std::vector<char> before = read_all(path);
  const int fd = ::open(path.c_str(), O_RDWR);
  system::take_huge_pages(fd, 0, 2 * system::kHugePage);
  EXPECT_FALSE(system::take_huge_pages(-1, 0, 2 * system::kHugePage));
  ::close(fd);
  EXPECT_EQ(read_all(path), before);
}

/// Says what of a pool does not lie in huge pages; "" if all does.
std::string outside_of_huge_pages() {
  const Folder folder("/dev/shm");
  TableShape shape = small_shape();
  shape.top_level = 16;  // 2^16 buckets of 8 slots: 8 MiB
  shape.cells = 16 * system::kHugePage / 128;
  std::string outside;
  const auto expect = [&](const char* what, const void* address, std::uint64_t bytes) {
    const std::uint64_t huge = huge_bytes_around(address);
    if (huge < bytes)
      outside += std::string(what) + ": " + std::to_string(huge) + " of " + std::to_string(bytes) + "; ";
  };
  const auto look = [&](TableObject& pool) {
    static_cast<void>(*static_cast<volatile std::byte*>(pool.heap() + 8 * system::kHugePage));
    expect("level 16", pool.level(16), 3 * system::kHugePage);
    expect("heap", pool.heap() + 8 * system::kHugePage, system::kHugePage);
  };
  {
    const auto pool = create(folder / "a.hold", shape);
    look(*pool);
    pool->add_level(17);
    expect("level 17", pool->level(17), 7 * system::kHugePage);
  }
  look(*open(folder / "a.hold"));
  return outside;
}

TEST(HugePages, LevelsAndHeapLieInThem) {
  // More than the pool needs, before it and again where it had none: somebody may have taken them between.
  constexpr std::uint64_t kEnough = 64 * system::kHugePage;
  std::string outside;
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (!kernel_gives_huge_pages(kEnough))
      GTEST_SKIP() << "this kernel gives no huge pages on request (Linux 6.1 does)";
    outside = outside_of_huge_pages();
    if (outside.empty()) return;
  }
  if (!kernel_gives_huge_pages(kEnough)) GTEST_SKIP() << "the machine has run out of huge pages";
  FAIL() << outside;
}

}  // namespace
}  // namespace holdfast::pool
