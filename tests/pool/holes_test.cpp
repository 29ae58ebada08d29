// holes_test.cpp: where a file has holes, and that many questions cost few calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "pool/superblock.hpp"
#include "support/random.hpp"
#include "system/calls.hpp"
#include "system/file.hpp"
#include "system/mapping.hpp"

namespace holdfast::pool {
namespace {

constexpr std::uint64_t kPages = 300;

/// Counts the seeks as long as it lives.
class Seeks : public system::Observer {
 public:
  Seeks() : before_(system::observe(this)) {}
  ~Seeks() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override {
    count += event.call == system::Call::seek ? 1 : 0;
    return 0;
  }
  unsigned count = 0;

 private:
  system::Observer* const before_;
};

class HolesTest : public testing::Test {
 protected:
  HolesTest() : file_(system::File::make(path_, path_)) { file_.resize(kPages * kPage); }
  ~HolesTest() override { std::filesystem::remove(path_); }
  void write(std::uint64_t page) {
    ASSERT_EQ(pwrite(file_.fd(), "x", 1, static_cast<off_t>(page * kPage)), 1);
    written_[page] = true;
  }
  /// By what was written.
  std::vector<std::uint64_t> expected(std::uint64_t from, std::uint64_t to) const {
    std::vector<std::uint64_t> pages;
    for (std::uint64_t page = from; page < to; ++page) {
      if (!written_[page]) pages.push_back(page);
    }
    return pages;
  }
  static std::vector<std::uint64_t> pages_of(const std::vector<system::FileRange>& holes) {
    std::vector<std::uint64_t> pages;
    for (const system::FileRange& hole : holes) {
      for (std::uint64_t at = hole.offset; at < hole.end(); at += kPage) pages.push_back(at / kPage);
    }
    return pages;
  }

  const std::string path_ = "/dev/shm/holdfast-holes-test-" + std::to_string(getpid());
  system::File file_;
  std::vector<bool> written_ = std::vector<bool>(kPages);
};

TEST_F(HolesTest, AreThoseOfTheFileInAnyOrderOfRanges) {
  test::Random random(7);
  for (std::uint64_t page = 0; page < kPages; ++page) {
    if (random.chance(40)) write(page);
  }
  system::Holes holes(file_);
  for (unsigned i = 0; i < 2000; ++i) {
    const std::uint64_t from = random.below(kPages), to = from + 1 + random.below(kPages - from);
    ASSERT_EQ(pages_of(holes.in({from * kPage, (to - from) * kPage})), expected(from, to)) << from << " to " << to;
  }
}

TEST_F(HolesTest, OnlyWholePagesCount) {
  write(1);
  const std::vector<system::FileRange> found = system::Holes(file_).in({100, 4 * kPage});
  ASSERT_EQ(found.size(), 1u) << "the first page is not in the range as a whole, and neither is the last";
  EXPECT_EQ(found[0].offset, 2 * kPage);
  EXPECT_EQ(found[0].bytes, 2 * kPage);
}

TEST_F(HolesTest, ManyRangesOfOneHoleAreSoughtOnce) {
  file_.allocate(
      0, kPages * kPage);  // as pools are that claim room and never wrote there: the kernel walks over all of it
  Seeks seeks;
  system::Holes holes(file_);
  for (std::uint64_t page = 0; page + 1 < kPages; page += 2) holes.in({page * kPage, kPage});
  EXPECT_LE(seeks.count, 2u);
}

TEST_F(HolesTest, ManyRangesOfDataAreSoughtOnce) {
  for (std::uint64_t page = 0; page < kPages; ++page) write(page);
  Seeks seeks;
  system::Holes holes(file_);
  for (std::uint64_t page = 0; page + 1 < kPages; page += 2) EXPECT_TRUE(holes.in({page * kPage, kPage}).empty());
  EXPECT_LE(seeks.count, 2u);
}

}  // namespace
}  // namespace holdfast::pool
