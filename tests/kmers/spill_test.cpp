// spill_test.cpp: the file for what memory does not hold: its runs, and a disk that is full.
#include "kmers/spill.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "holdfast/error.hpp"
#include "proof/parts.hpp"
#include "system/calls.hpp"

namespace holdfast::kmers {
namespace {

std::vector<std::uint8_t> bytes_of(std::size_t size, std::uint8_t first) {
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = first++;
  return bytes;
}

TEST(KmerSpill, RunsComeBack) {
  Spill spill(::testing::TempDir(), 3);
  const auto a = bytes_of(700'000, 1), b = bytes_of(900'000, 2), c = bytes_of(3, 3);
  spill.append(a.data(), a.size());
  spill.append(c.data(), c.size());
  spill.end(0);
  spill.end(1);  // nothing
  spill.append(b.data(), b.size());
  spill.end(2);
  spill.flush();
  spill.append(c.data(), c.size());
  spill.end(2);
  spill.flush();
  EXPECT_EQ(spill.bytes(), a.size() + b.size() + 2 * c.size());
  EXPECT_TRUE(spill.runs(1).empty());
  ASSERT_EQ(spill.runs(0).size(), 1u);
  ASSERT_EQ(spill.runs(2).size(), 2u);
  std::vector<std::uint8_t> read(spill.runs(0)[0].bytes);
  spill.read(spill.runs(0)[0], read.data());
  auto both = a;
  both.insert(both.end(), c.begin(), c.end());
  EXPECT_EQ(read, both);
  read.resize(b.size());
  spill.read(spill.runs(2)[0], read.data());
  EXPECT_EQ(read, b);
  read.resize(c.size());
  spill.read(spill.runs(2)[1], read.data());
  EXPECT_EQ(read, c);
}

/// In a file with a hole before them.
TEST(KmerSpill, RunsBeyond2To32BytesComeBack) {
  constexpr std::uint64_t kBegin = (std::uint64_t{1} << 32) - 1'000'000;
  Spill spill(::testing::TempDir(), 4, kBegin);
  std::vector<std::vector<std::uint8_t>> all;
  for (unsigned bin = 0; bin < 4; ++bin) {
    all.push_back(bytes_of(700'000, static_cast<std::uint8_t>(bin + 1)));
    spill.append(all.back().data(), all.back().size());
    spill.end(bin);
  }
  spill.flush();
  EXPECT_EQ(spill.bytes(), 2'800'000u);
  for (unsigned bin = 0; bin < 4; ++bin) {
    ASSERT_EQ(spill.runs(bin).size(), 1u);
    EXPECT_EQ(spill.runs(bin)[0].offset, kBegin + bin * 700'000);
    std::vector<std::uint8_t> read(spill.runs(bin)[0].bytes);
    spill.read(spill.runs(bin)[0], read.data());
    EXPECT_TRUE(read == all[bin]) << bin;
  }
}

class Full : public system::Observer {
 public:
  explicit Full(int error) : error_(error), before_(system::observe(this)) {}
  ~Full() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override { return event.call == system::Call::pwrite ? error_ : 0; }

 private:
  const int error_;
  system::Observer* const before_;
};

TEST(KmerSpill, AFullDiskIsNoSpace) {
  Spill spill(::testing::TempDir(), 1);
  const auto some = bytes_of(10, 1);
  spill.append(some.data(), some.size());
  spill.end(0);
  {
    const Full full(ENOSPC);
    EXPECT_THROW(spill.flush(), NoSpace);
  }
  const Full broken(EIO);
  EXPECT_THROW(spill.flush(), SystemError);
}

TEST(KmerSpill, RunsComeBackHoweverLittleTheSystemTransfers) {
  Spill spill(::testing::TempDir(), 2);
  const auto a = bytes_of(1'500'000, 1), b = bytes_of(70'000, 9);
  const proof::Parts parts;
  for (unsigned round = 0; round < 2; ++round) {
    spill.append(a.data(), a.size());
    spill.end(0);
    spill.append(b.data(), b.size());
    spill.end(1);
  }
  spill.flush();
  EXPECT_GE(parts.cut(), 10u) << "written in parts";
  const std::uint64_t before = parts.cut();
  EXPECT_EQ(spill.bytes(), 2 * (a.size() + b.size()));
  for (const unsigned bin : {0u, 1u}) {
    const auto& right = bin == 0 ? a : b;
    ASSERT_EQ(spill.runs(bin).size(), 2u);
    for (const Spill::Run& run : spill.runs(bin)) {
      std::vector<std::uint8_t> read(run.bytes);
      spill.read(run, read.data());
      EXPECT_TRUE(read == right);
    }
  }
  EXPECT_GE(parts.cut(), before + 10) << "and read";
}

/// Takes nothing, of a write, and says of no error.
TEST(KmerSpill, AWriteOfNothingIsNoSpace) {
  class Nothing : public Full {
   public:
    Nothing() : Full(0) {}
    std::uint64_t most(const system::Event& event) noexcept override {
      return event.call == system::Call::pwrite ? 0 : event.bytes;
    }
  };
  Spill spill(::testing::TempDir(), 1);
  const auto some = bytes_of(10, 1);
  spill.append(some.data(), some.size());
  const Nothing nothing;
  EXPECT_THROW(spill.flush(), NoSpace);
}

TEST(KmerSpill, AFolderThatIsNotThereIsSaid) {
  Spill spill("/no/such/folder", 1);
  const auto some = bytes_of(10, 1);
  EXPECT_THROW(spill.append(some.data(), some.size()), SystemError);
}

}  // namespace
}  // namespace holdfast::kmers
