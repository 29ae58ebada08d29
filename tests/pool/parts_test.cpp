// parts_test.cpp: a system that transfers a part of what it is asked to, and is interrupted: files are read, written and rewritten whole.
#include <algorithm>
#include <cerrno>

#include "pool/pool_image.hpp"
#include "pool_test.hpp"
#include "proof/parts.hpp"
#include "system/bulk_writer.hpp"
#include "system/file.hpp"

namespace holdfast::pool {
namespace {

using proof::Parts;

constexpr std::uint64_t kBytes = (std::uint64_t{5} << 20) + 3 * kPage;  // several steps of a rewrite, and a rest

std::vector<char> numbered(std::uint64_t bytes) {
  std::vector<char> made(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(i * 31 + i / 4096 + 1);
  return made;
}

class PartialTransfers : public ::testing::TestWithParam<const char*> {
 protected:
  const Folder folder{GetParam()};
  const std::string path = folder / "a";
};
INSTANTIATE_TEST_SUITE_P(Media, PartialTransfers, ::testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param) == "/tmp" ? "file" : "shm"; });

TEST_P(PartialTransfers, AreReadToTheEnd) {
  const std::vector<char> bytes = numbered(kBytes);
  write_all(path, bytes);
  const system::File file = system::File::open(path, false);
  const Parts parts;
  std::vector<char> read(kBytes + 10);
  EXPECT_EQ(file.read(read.data(), 70'000, 4'001), 70'000u);
  EXPECT_TRUE(std::equal(read.begin(), read.begin() + 70'000, bytes.begin() + 4'001));
  EXPECT_EQ(file.read(read.data(), read.size(), 0), kBytes) << "and no further";
  read.resize(kBytes);
  EXPECT_TRUE(read == bytes);
  EXPECT_GE(parts.cut(), 10u);
}

/// As where a sync has failed: each byte of the range, and no other, is written anew.
TEST_P(PartialTransfers, AreRewrittenToTheEnd) {
  class Written : public Parts {
   public:
    std::vector<bool> bytes = std::vector<bool>(kBytes + kPage);
    void after(system::Event& event) noexcept override {
      if (event.call != system::Call::pwrite || event.result <= 0) return;
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(event.offset);
      std::fill(begin, begin + event.result, true);
    }
  };
  const std::vector<char> before = numbered(kBytes + kPage);
  write_all(path, before);
  const system::File file = system::File::open(path, true);
  Written written;
  file.rewrite(kPage, kBytes - kPage);
  EXPECT_GE(written.cut(), 10u);
  EXPECT_TRUE(read_all(path) == before);
  for (std::uint64_t at = 0; at < kBytes + kPage; ++at) {
    ASSERT_EQ(written.bytes[at], at >= kPage && at < kBytes) << at;
  }
}

TEST_P(PartialTransfers, AreWrittenInBulkToTheEnd) {
  const std::vector<char> bytes = numbered(kBytes + kPage);
  const std::size_t to_page = kPage - reinterpret_cast<std::uintptr_t>(bytes.data()) % kPage;
  const auto* const source = reinterpret_cast<const std::byte*>(bytes.data() + to_page);  // as a direct write wants it
  for (const std::uint64_t unit : {std::uint64_t{1}, kPage}) {
    const std::string target = folder / std::to_string(unit);
    const system::File file = system::File::make(target, target);
    file.allocate(0, kBytes + kPage);
    {
      const Parts parts(unit);
      system::BulkWriter writer(file, kPage);
      writer.write(source, kBytes / kPage * kPage, kPage);
      EXPECT_EQ(writer.written(), kBytes);
      EXPECT_GE(parts.cut(), 10u);
    }
    const std::vector<char> found = read_all(target);
    ASSERT_EQ(found.size(), kBytes + kPage);
    EXPECT_EQ(std::memcmp(found.data() + kPage, source, kBytes), 0) << "parts of " << unit;
    EXPECT_EQ(std::count(found.begin(), found.begin() + kPage, '\0'), static_cast<std::ptrdiff_t>(kPage));
  }
}

/// A write that takes nothing would be repeated for ever.
TEST_P(PartialTransfers, OfNothingAreAnError) {
  class Nothing : public system::Observer {
   public:
    Nothing() : before_(system::observe(this)) {}
    ~Nothing() override { system::observe(before_); }
    std::uint64_t most(const system::Event& event) noexcept override {
      return event.call == system::Call::pwrite ? 0 : event.bytes;
    }

   private:
    system::Observer* const before_;
  };
  write_all(path, numbered(kPage));
  const system::File file = system::File::open(path, true);
  const Nothing nothing;
  EXPECT_THROW(file.rewrite(0, kPage), SystemError);
  system::BulkWriter writer(file, kPage);
  const auto bytes = numbered(kPage);
  EXPECT_THROW(writer.write(reinterpret_cast<const std::byte*>(bytes.data()), kPage, 0), NoSpace);
}

TEST_P(PartialTransfers, OpenAPoolAsItIs) {
  create_closed(path);
  const PoolInfo before = inspect(path);
  const Parts parts;
  EXPECT_EQ(read_pool(system::File::open(path, false)).directory.objects.size(), 1u);
  const PoolInfo after = inspect(path);
  ASSERT_EQ(after.objects.size(), 1u);
  EXPECT_EQ(after.objects[0].damage, "");
  EXPECT_EQ(after.objects[0].generation, before.objects[0].generation);
  EXPECT_EQ(after.valid_copies, 2u);
  const auto table = open(path);
  EXPECT_TRUE(table->was_clean());
  EXPECT_GE(parts.cut(), 5u);
}

}  // namespace
}  // namespace holdfast::pool
