// directory_crash_test.cpp: a commit to the directory is crashed at every store; the old one or the new must be left, whole.
#include <map>
#include <set>

#include "core/random.hpp"
#include "memory/commit.hpp"
#include "memory/edit.hpp"
#include "pool_test.hpp"

namespace holdfast::memory {
namespace {

constexpr std::size_t kUsed = 1024;  // of an area, by the small directories here

/// What of a pool a commit writes.
struct Header {
  alignas(64) Superblock block[2];
  std::byte area[2][kUsed];
};

/// A Memory policy that keeps what is durable apart from what was only stored, and visits a crash before each access.
///
/// What was stored and not fenced may be durable or not: in any subset of 8-byte words (the GPU; the CPU's prefixes of each
/// line are among them). All of them, none, each alone, all but each, the prefixes in both directions, and random ones.
class CrashMemory {
 public:
  CrashMemory(Header& header, std::function<void(const Header&)> visit)
      : durable_(header), base_(reinterpret_cast<std::uint64_t*>(&header)), visit_(std::move(visit)) {}

  unsigned leave_out_fence =
      ~0u;  ///< the number of one that does nothing: 0 behind the area, 1 and 2 behind the copies
  bool flushes = true;
  std::uint64_t images = 0;

  void store(std::uint64_t* address, std::uint64_t value) {
    crash(false);
    const std::uint64_t index = static_cast<std::uint64_t>(address - base_);
    pending_.emplace_back(index, value);
    *address = value;
  }
  void flush(const void* address, std::size_t bytes) {
    crash(true);
    if (!flushes) return;
    const auto first = static_cast<std::uint64_t>(static_cast<const std::uint64_t*>(address) - base_);
    for (std::uint64_t i = first; i < first + bytes / 8; ++i) flushed_.insert(i);
  }
  void fence() {
    crash(true);
    if (fences_++ == leave_out_fence) return;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rest;
    for (const auto& [index, value] : pending_) {
      if (flushed_.count(index) != 0) {
        words(durable_)[index] = value;
      } else {
        rest.emplace_back(index, value);
      }
    }
    pending_ = rest;
    flushed_.clear();
    crash(true);
  }

 private:
  static std::uint64_t* words(Header& header) { return reinterpret_cast<std::uint64_t*>(&header); }

  template <class Keep>
  void image(Keep keep) {
    Header header = durable_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (keep(i)) words(header)[pending_[i].first] = pending_[i].second;
    }
    ++images;
    visit_(header);
  }

  void crash(bool thorough) {
    const std::size_t n = pending_.size();
    image([](std::size_t) { return false; });
    image([](std::size_t) { return true; });
    for (int i = 0; i < 2; ++i) image([&](std::size_t) { return random_() % 2 == 0; });
    if (!thorough) return;
    for (std::size_t one = 0; one < n; ++one) {
      image([&](std::size_t i) { return i == one; });
      image([&](std::size_t i) { return i != one; });
      image([&](std::size_t i) { return i < one; });
      image([&](std::size_t i) { return i > one; });
    }
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t density = random_.below(16) + 1;
      image([&](std::size_t) { return random_.below(17) < density; });
    }
  }

  Header durable_;
  unsigned fences_ = 0;
  std::uint64_t* base_;
  std::function<void(const Header&)> visit_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pending_;
  std::set<std::uint64_t> flushed_;
  Random random_{1};
};

/// A pool's header before a commit, and what the commit writes: a table is made, another renamed, a third dropped.
struct Commit {
  Header before = {};
  Superblock next = {};
  std::vector<std::byte> old_directory, new_directory;
};

Header read_header(const std::string& path) {
  Header header = {};
  const std::vector<char> bytes = read_all(path);
  std::memcpy(header.block, bytes.data(), sizeof header.block);
  for (unsigned area = 0; area < 2; ++area) std::memcpy(header.area[area], bytes.data() + area_offset(area), kUsed);
  return header;
}

Commit sample() {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  NewPool made(path, false);
  for (const char* const name : {"one", "two"}) TableObject::create(made.pool(), name, small_shape(), {.label = path});
  made.publish();
  PoolFile& pool = *made.pool();
  Commit commit;
  commit.before = read_header(path);
  commit.old_directory = encode(*pool.directory());
  Edit edit(pool);
  edit.rename(1, "eins");
  edit.drop(2);
  const std::uint32_t number = edit.create({.name = "two"});
  edit.add(number, kPagesRole, 0, 2 * kPage);
  edit.commit();
  commit.next = pool.superblock();
  commit.new_directory = encode(*pool.directory());
  EXPECT_LE(commit.new_directory.size(), kUsed);
  return commit;
}

/// The directory that counts in an image, as bytes; empty if none does.
std::vector<std::byte> directory_in(const Header& image) {
  static std::vector<std::byte> area(kAreaBytes);
  const Choice choice =
      choose_copy(image.block[0], image.block[1], [](const Superblock& block) { return is_intact(block); });
  if (choice.copy < 0) return {};
  const Superblock& block = image.block[choice.copy];
  std::memcpy(area.data(), image.area[block.area], kUsed);
  Directory directory;
  return decode(area.data(), block.generation, ~std::uint64_t{0}, directory).empty() ? encode(directory)
                                                                                     : std::vector<std::byte>();
}

struct Outcome {
  std::uint64_t images = 0, older = 0, newer = 0, lost = 0;
};

Outcome crash_everywhere(const Commit& commit, unsigned leave_out_fence = ~0u, bool flushes = true) {
  Outcome outcome;
  Header header = commit.before;
  CrashMemory memory(header, [&](const Header& image) {
    const std::vector<std::byte> found = directory_in(image);
    ++(found == commit.old_directory ? outcome.older : found == commit.new_directory ? outcome.newer : outcome.lost);
  });
  memory.leave_out_fence = leave_out_fence;
  memory.flushes = flushes;
  commit_directory(memory, header.area[commit.next.area], commit.new_directory.data(), commit.new_directory.size(),
                   header.block, commit.next);
  outcome.images = memory.images;
  return outcome;
}

TEST(DirectoryCrash, AlwaysLeavesTheOldOrTheNew) {
  const Outcome outcome = crash_everywhere(sample());
  EXPECT_EQ(outcome.lost, 0u);
  EXPECT_GT(outcome.older, 8'000u);
  EXPECT_GT(outcome.newer, 3'000u);
  EXPECT_GT(outcome.images, 15'000u);
  std::printf("%lu images of a commit\n", static_cast<unsigned long>(outcome.images));
}

TEST(DirectoryCrash, MendingACopyAfterACrashMayCrashToo) {
  const Commit commit = sample();
  // A was half-written and B is old: opening writes A again, from B.
  Header header = commit.before;
  const Superblock old = header.block[1];
  header.block[0] = commit.next;
  header.block[0].checksum ^= 1;
  std::uint64_t lost = 0, images = 0;
  CrashMemory memory(header, [&](const Header& image) {
    lost += directory_in(image) != commit.old_directory;
    ++images;
  });
  write_copy(memory, &header.block[0], old);
  EXPECT_EQ(lost, 0u);
  EXPECT_GT(images, 3'000u);
}

TEST(DirectoryCrash, TheTestSeesEachMissingFenceAndAMissingFlush) {
  const Commit commit = sample();
  EXPECT_GT(crash_everywhere(commit, 0).lost, 0u) << "behind the area";
  EXPECT_GT(crash_everywhere(commit, 1).lost, 0u) << "behind copy A";
  EXPECT_GT(crash_everywhere(commit, ~0u, false).lost, 0u);
}

}  // namespace
}  // namespace holdfast::memory
