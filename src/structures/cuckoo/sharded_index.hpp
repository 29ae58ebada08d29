// sharded_index.hpp: one index made of several, each with the keys of a share of the hashes, as on several GPUs (Mega-KV §7.1).
// docs/internals/cuckoo.md, "Shards".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "structures/cuckoo/any_index.hpp"

namespace holdfast::cuckoo {

inline constexpr std::size_t kMostShards = 256;

/// The shard of a key. Given all bits of the hash that choose a bucket or a signature, the other ones, 61 to 63, still spread keys evenly over the
/// shards: so each shard uses all its buckets, and all signatures.
constexpr std::size_t shard_of(Hash hash, std::size_t shards) {
  constexpr std::uint64_t kOdd = 0xff51'afd7'ed55'8ccd;
  return (hash * kOdd >> 32) * shards >> 32;
}

/// An `AnyIndex`. A batch is divided among the shards, which execute their rows at the same time if they have an asynchronous `begin`. Fails with the
/// error of the first shard that fails, when no shard uses the batch's arrays any more; the others may have executed their rows. A shard grows alone.
class ShardedIndex final : public AnyIndex {
 public:
  /// Of one shard or more, which are empty. `threads`: of `fill`, for what the shards' own threads do not do.
  ShardedIndex(std::vector<std::unique_ptr<AnyIndex>> shards, unsigned threads);

  /// Entries that each shard is made for, of so many in all.
  static std::uint64_t share(std::uint64_t capacity, std::size_t shards) { return (capacity + shards - 1) / shards; }

  void search(std::span<const Hash> hashes, std::span<Location> locations) const override;
  std::unique_ptr<Searching> searching() const override;
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const override;
  void exchange(std::span<const Hash> hashes, std::span<const Location> old, std::span<const Location> locations,
                std::span<Outcome> outcomes) override;
  void erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) override;
  /// Copies the rows, 16 bytes each.
  std::vector<Row> fill(std::span<const FreshRows> found) override;
  std::uint64_t size() const override;
  std::unique_ptr<AnyIndex> another(std::uint64_t capacity) const override;

 private:
  class Round;
  class Searches;
  void execute_rounds(const AnyBatch& batch) const;

  const std::vector<std::unique_ptr<AnyIndex>> shards_;
  const unsigned threads_;
};

}  // namespace holdfast::cuckoo
