// holes_test.cpp: every file with holes is refused or opened, read and checked, in a second and in twice its blocks; and what is refused gives
// back what it took. HOLDFAST_LONG=1 tries 10,000 of them, HOLDFAST_SEED=n others, and HOLDFAST_RESULTS=folder keeps what was measured.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>

#include "cases.hpp"
#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "holes.hpp"
#include "pool/superblock.hpp"
#include "proof/runs/results.hpp"

namespace holdfast::test::corrupt {
namespace {

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kNanosecondsAllowed = 4'000'000'000;
#else
constexpr std::uint64_t kNanosecondsAllowed = 1'000'000'000;
#endif
constexpr std::uint64_t kTimesAllowed = 2;  // the blocks that there were

/// What the children found, of all images.
struct Measured {
  std::uint64_t cases, refused, opened, sparse;
  std::uint64_t slowest, slowest_case, slowest_cpu;  ///< nanoseconds of one use
  std::uint64_t most_blocks_percent, largest_claim;
  std::uint64_t most_metadata;  ///< bytes by which that of the file system grew and stayed, of a refused image
};

std::uint64_t clock_of(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// One image, and all that its users may do at first.
class Case {
 public:
  Case(std::string path, std::uint64_t number, bool has_spare_space, Measured& measured)
      : path_(std::move(path)),
        number_(number),
        has_spare_space_(has_spare_space),
        measured_(measured),
        there_(blocks_of(path_)) {}

  Outcome run() {
    use("inspect", [&] { inspect(path_); });
    use("check", [&] { check(path_); });
    for (const bool read_only : {true, false}) {
      use(read_only ? "open for reading" : "open", [&] { open_all(read_only); });
    }
    if (!opened_) look_at_what_stays();
    measured_.opened += opened_ ? 1 : 0;
    measured_.refused += opened_ ? 0 : 1;
    return {opened_, !opened_, wrong_};
  }

 private:
  void use(const char* what, const std::function<void()>& act) {
    const std::uint64_t wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    try {
      act();
    } catch (const Error& error) {
      error_ = error.what();
    } catch (const std::exception& error) {
      wrong_ += std::string(what) + " threw " + error.what() + "; ";
    }
    const std::uint64_t took = clock_of(CLOCK_MONOTONIC) - wall;
    const std::uint64_t took_cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (took > measured_.slowest) {
      measured_.slowest = took;
      measured_.slowest_case = number_;
    }
    measured_.slowest_cpu = std::max(measured_.slowest_cpu, took_cpu);
    // On a busy machine it is the processor's time that tells.
    if (took_cpu > kNanosecondsAllowed) wrong_ += std::string(what) + " took " + std::to_string(took_cpu) + " ns; ";
    look_at_blocks(what);
  }

  void look_at_blocks(const char* what) {
    const std::uint64_t now = blocks_of(path_).all;
    if (there_.all != 0)
      measured_.most_blocks_percent = std::max(measured_.most_blocks_percent, 100 * now / there_.all);
    if (now <= kTimesAllowed * there_.all) return;
    wrong_ += std::string(what) + " took " + std::to_string(now) + " bytes of " + std::to_string(there_.all) + "; ";
  }

  /// What was refused gives back its holes. But for the superblocks, which may have been mended, and the owner's note. Where a file has
  /// room that belongs to nothing, it may seem to have no holes, and they are filled as they are read: the bound on blocks holds all the
  /// same. What a file system itself takes to remember thousands of extents it keeps when they are gone (ext4 does, until the file is
  /// removed): it is counted, and not held against the pool.
  void look_at_what_stays() {
    const Blocks now = blocks_of(path_);
    const std::uint64_t metadata = now.all - now.data, metadata_there = there_.all - there_.data;
    measured_.most_metadata = std::max(measured_.most_metadata, metadata - std::min(metadata, metadata_there));
    if (has_spare_space_ || now.data <= there_.data + pool::kFirstArea) return;
    wrong_ += "refused (" + error_ + "), it keeps " + std::to_string(now.data) + " bytes and had " +
              std::to_string(there_.data) + "; ";
  }

  void open_all(bool read_only) {
    Pool pool = Pool::open(path_, {.read_only = read_only, .salvage = false});
    std::vector<Table> tables;
    for (const ObjectInfo& object : pool.objects()) {
      OpenOptions options;
      options.runtime.device = "cpu";
      options.runtime.threads = 1;
      options.read_only = read_only;
      try {
        tables.push_back(pool.table(object.name, options));
        opened_ = true;
      } catch (const Error& error) {
        error_ = error.what();
      }
    }
    look_at_blocks("an open pool");
  }

  const std::string path_;
  const std::uint64_t number_;
  const bool has_spare_space_;
  Measured& measured_;
  const Blocks there_;
  bool opened_ = false;
  std::string error_, wrong_;
};

std::uint64_t first_seed() {
  const char* const given = std::getenv("HOLDFAST_SEED");
  return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
}

void keep(const std::string& medium, std::uint64_t count, const Measured& measured, const Tally& tally) {
  const char* const folder = std::getenv("HOLDFAST_RESULTS");
  if (folder == nullptr) return;
  proof::Results results("holdfast.holes/1");
  results.add("medium", medium);
  results.add("first_seed", first_seed());
  results.add("images", count);
  results.add("refused", measured.refused);
  results.add("opened", measured.opened);
  results.add("sparse", measured.sparse);
  results.add("largest_claim_bytes", measured.largest_claim);
  results.add("slowest_ms", static_cast<double>(measured.slowest) / 1e6);
  results.add("slowest_seed", measured.slowest_case);
  results.add("slowest_cpu_ms", static_cast<double>(measured.slowest_cpu) / 1e6);
  results.add("most_blocks_percent", measured.most_blocks_percent);
  results.add("most_metadata_kept_bytes", measured.most_metadata);
  results.add("violations", static_cast<std::uint64_t>(tally.wrong.size()));
  results.write(folder, "holes-" + medium + ".json");
}

void try_files(const std::string& medium, const std::string& folder, std::uint64_t count) {
  void* const shared = mmap(nullptr, sizeof(Measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Measured& measured = *new (shared) Measured{};
  const std::string path = folder + "/holdfast-holes-" + std::to_string(getpid());
  make_holed_file(0);  // the pools that they come from, once for all children
  const Tally tally = run_cases(
      count,
      [&](std::uint64_t i) {
        const HoledFile file = make_holed_file(first_seed() + i);
        std::filesystem::remove(path);
        if (!write_holed_file(path, file)) return Outcome{};
        ++measured.cases;
        measured.sparse += blocks_of(path).all < file.length ? 1 : 0;
        measured.largest_claim = std::max(measured.largest_claim, file.length);
        return Case(path, first_seed() + i, !file.space.empty(), measured).run();
      },
      [](std::uint64_t i) { return make_holed_file(first_seed() + i).name; });
  std::filesystem::remove(path);
  for (const std::string& wrong : tally.wrong) ADD_FAILURE() << wrong;
  EXPECT_EQ(measured.cases, count) << "some files could not be written";
  EXPECT_GT(measured.opened, count / 10);
  EXPECT_GT(measured.refused, count / 10);
  EXPECT_GT(measured.sparse, count / 2);
  keep(medium, count, measured, tally);
  munmap(shared, sizeof(Measured));
}

TEST(Holes, AreRefusedOrOpenedInASecondAndTwiceTheBlocks) { try_files("shm", "/dev/shm", is_long() ? 10'000 : 200); }

TEST(Holes, OnADiskToo) { try_files("file", "/tmp", is_long() ? 2'000 : 40); }

/// Why what a refused image keeps is judged by its data: half of the pages of this one are holes, each by itself. They are filled and
/// given back, as an opening that fails does it, and ext4 keeps the blocks that had listed twice as many extents.
TEST(Holes, Ext4KeepsTheBlocksThatListedExtents) {
  constexpr long kExt4 = 0xEF53;
  struct statfs facts = {};
  if (statfs("/tmp", &facts) != 0 || facts.f_type != kExt4) GTEST_SKIP() << "/tmp is no ext4";
  const std::string path = "/tmp/holdfast-extents-" + std::to_string(getpid());
  std::filesystem::remove(path);
  const HoledFile holed = make_holed_file(1102);
  ASSERT_TRUE(write_holed_file(path, holed));
  const system::File file = system::File::open(path, true);
  file.sync_data();  // else its blocks are counted, and have no place yet that somebody must list
  const Blocks before = blocks_of(path);
  const std::vector<system::FileRange> holes = system::Holes(file).in({0, holed.length});
  ASSERT_GT(holes.size(), 1000u);
  for (const system::FileRange& hole : holes) file.allocate(hole.offset, hole.bytes);
  EXPECT_GT(blocks_of(path).data, before.data + before.data / 2);
  for (const system::FileRange& hole : holes) file.punch(hole.offset, hole.bytes);
  const Blocks after = blocks_of(path);
  std::filesystem::remove(path);
  EXPECT_EQ(after.data, before.data) << "nothing of the pool stays";
  EXPECT_GT(after.all, before.all) << "what stays is ext4's own";
}

}  // namespace
}  // namespace holdfast::test::corrupt
