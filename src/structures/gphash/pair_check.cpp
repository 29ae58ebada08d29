// pair_check.cpp: the checksums of all pairs, by several threads, since each pair is read whole.
#include "structures/gphash/pair_check.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "core/quoted.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/host_words.hpp"
#include "structures/gphash/protocol/pair.hpp"
#include "threads/parallel.hpp"

namespace holdfast::gphash {

namespace {

constexpr std::size_t kMostLines = 16;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw PoolCorrupt(
      path + " has damaged keys or values: " + what +
      ". `holdfast check` lists them; go back to a snapshot, or export the rest with `holdfast recover --salvage`");
}

/// The key of a pair that is not whole, if it has the hash that its slot has.
std::string describe_key(const Layout& layout, std::uint64_t hash, std::uint64_t word) {
  const gphash::Part key = gphash::pair_at(Still{}, layout, word).key;
  if (gphash::hash_of(key, layout.seed) != hash) return "its key cannot be read";
  return "the value of the key " + quoted({reinterpret_cast<const char*>(key.data), key.size}) +
         " is damaged; insert it again, or erase it";
}

void verify_some(const Layout& layout, unsigned rank, std::uint64_t begin, std::uint64_t end,
                 std::vector<std::string>& lines) {
  const unsigned slots = layout.shape.slots();
  for (std::uint64_t i = begin; i < end && lines.size() < kMostLines; ++i) {
    const gphash::Slot* const slot = layout.after(layout.level[rank], i);
    const std::uint64_t hash = Still::load(&slot->key), word = Still::load(&slot->word);
    if (hash == 0 || word == 0 || gphash::is_whole_pair(Still{}, layout, hash, word)) continue;
    lines.push_back("level " + std::to_string(layout.top_level - rank) + " bucket " + std::to_string(i / slots) +
                    " slot " + std::to_string(i % slots) +
                    " names a pair whose checksum is wrong: " + describe_key(layout, hash, word));
  }
}

}  // namespace

std::vector<std::string> verify_pairs(const Layout& layout) {
  std::vector<std::string> lines;
  if (!layout.shape.variable_) return lines;
  std::mutex mutex;
  const unsigned most = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  for (unsigned rank = 0; rank < layout.shape.levels(); ++rank) {
    const std::uint64_t slots = layout.buckets(rank) * layout.shape.slots();
    const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(slots / 4096, 1, most));
    threads::in_parallel(
        slots, (slots + threads - 1) / threads, threads,
        [&](std::uint64_t begin, std::uint64_t end) {
          std::vector<std::string> mine;
          verify_some(layout, rank, begin, end, mine);
          const std::lock_guard lock(mutex);
          lines.insert(lines.end(), mine.begin(), mine.end());
        },
        [](std::uint64_t) { return true; });
  }
  return lines;
}

void throw_damaged(const std::string& path, std::uint64_t rows) {
  refuse(path, std::to_string(rows) + " rows of this batch met one and did not run, all others did");
}

void require_whole(const std::string& path, const gphash::Part& key, const gphash::Part& value) {
  gphash::PairHeader stored;
  std::memcpy(&stored, key.data - sizeof stored, sizeof stored);
  const gphash::PairHeader read = gphash::header_of(key, value);
  if (stored.lengths != read.lengths || stored.checksum != read.checksum) refuse(path, "the export met one");
}

}  // namespace holdfast::gphash
