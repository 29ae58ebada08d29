// superblock_crash_test.cpp: the write of a superblock is crashed at every store; an intact old or new one must be left.
#include <map>
#include <set>

#include "core/random.hpp"
#include "memory/superblock.hpp"
#include "pool_test.hpp"

namespace holdfast::memory {
namespace {

struct Copies {
  alignas(64) Superblock block[2];
};

/// A Memory policy that keeps what is durable apart from what was only stored, and visits a crash before each access.
///
/// What was stored and not fenced may be durable or not: in any subset of 8-byte words (the GPU; the CPU's prefixes of each
/// line are among them). All of them, none, each alone, all but each, the prefixes in both directions, and random ones.
class CrashMemory {
 public:
  CrashMemory(Copies& copies, std::function<void(const Copies&)> visit)
      : durable_(copies), base_(reinterpret_cast<std::uint64_t*>(&copies)), visit_(std::move(visit)) {}

  bool fences = true, flushes = true;
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
    if (!fences) return;
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
  static std::uint64_t* words(Copies& copies) { return reinterpret_cast<std::uint64_t*>(&copies); }

  template <class Keep>
  void image(Keep keep) {
    Copies copies = durable_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (keep(i)) words(copies)[pending_[i].first] = pending_[i].second;
    }
    ++images;
    visit_(copies);
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

  Copies durable_;
  std::uint64_t* base_;
  std::function<void(const Copies&)> visit_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pending_;
  std::set<std::uint64_t> flushed_;
  Random random_{1};
};

/// Two superblocks, as before and after a level is added.
std::pair<Superblock, Superblock> before_and_after() {
  const Folder folder("/dev/shm");
  const auto pool = create(folder / "a.hold");
  std::pair<Superblock, Superblock> both;
  both.first = pool->superblock();
  pool->add_level(9);
  both.second = pool->superblock();
  return both;
}

struct Outcome {
  std::uint64_t images = 0, older = 0, newer = 0, lost = 0;
};

Outcome crash_everywhere(const Copies& start, const Superblock& old, const Superblock& next, bool fences,
                         bool flushes) {
  Outcome outcome;
  Copies copies = start;
  CrashMemory memory(copies, [&](const Copies& image) {
    const Choice choice = choose_superblock(image.block[0], image.block[1]);
    const Superblock* const chosen = choice.copy < 0 ? nullptr : &image.block[choice.copy];
    if (chosen != nullptr && std::memcmp(chosen, &old, sizeof old) == 0) {
      ++outcome.older;
    } else if (chosen != nullptr && std::memcmp(chosen, &next, sizeof next) == 0) {
      ++outcome.newer;
    } else {
      ++outcome.lost;
    }
  });
  memory.fences = fences;
  memory.flushes = flushes;
  write_superblock(memory, &copies.block[0], &copies.block[1], next);
  outcome.images = memory.images;
  return outcome;
}

TEST(SuperblockCrash, AlwaysLeavesTheOldOrTheNew) {
  const auto [old, next] = before_and_after();
  Copies copies{{old, old}};
  const Outcome outcome = crash_everywhere(copies, old, next, true, true);
  EXPECT_EQ(outcome.lost, 0u);
  EXPECT_GT(outcome.older, 1000u);
  EXPECT_GT(outcome.newer, 1000u);
  EXPECT_GT(outcome.images, 10'000u);
}

TEST(SuperblockCrash, MendingACopyAfterACrashMayCrashToo) {
  const auto [old, next] = before_and_after();
  // A was half-written and B is old: opening writes A again, from B.
  Copies copies{{next, old}};
  copies.block[0].checksum ^= 1;
  std::uint64_t lost = 0, images = 0;
  Copies work = copies;
  CrashMemory memory(work, [&](const Copies& image) {
    const Choice choice = choose_superblock(image.block[0], image.block[1]);
    lost += choice.copy < 0 || std::memcmp(&image.block[choice.copy], &old, sizeof old) != 0;
    ++images;
  });
  write_copy(memory, &work.block[0], old);
  EXPECT_EQ(lost, 0u);
  EXPECT_GT(images, 3'000u);
}

TEST(SuperblockCrash, TheTestSeesAMissingFenceAndAMissingFlush) {
  const auto [old, next] = before_and_after();
  Copies copies{{old, old}};
  EXPECT_GT(crash_everywhere(copies, old, next, false, true).lost, 0u);
  EXPECT_GT(crash_everywhere(copies, old, next, true, false).lost, 0u);
}

}  // namespace
}  // namespace holdfast::memory
