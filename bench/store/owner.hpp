// owner.hpp: the items of one worker that no other thread uses, after MICA (Lim et al., NSDI 2014: exclusive access, store mode), the store on CPUs that
// Mega-KV is compared with (§7.2). Requests reach the worker that owns their keys; nothing is claimed, shared or durable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "frame/anonymous_memory.hpp"
#include "store/requests.hpp"

namespace holdfast::bench::store {

/// Requests whose keys one owner has, with memory for their answers.
struct OwnedBatch {
  OwnedBatch(const DataSet& set, std::size_t most);
  void put(std::span<const Wanted> wanted);
  std::uint64_t wrong() const;

  Requests requests;
  std::vector<StoreRequest> rows;
  std::vector<StoreAnswer> answers;
  std::vector<std::uint64_t> hashes;
  std::vector<char> values;  ///< that were read
};

class Owner {
 public:
  /// Of at most so many items of a data set.
  Owner(const DataSet& set, std::uint64_t items);

  static std::uint64_t hash_of(std::string_view key);
  /// Which of so many owners has a key with this hash.
  static unsigned number_of(std::uint64_t hash, unsigned owners) { return static_cast<unsigned>(hash >> 24) % owners; }
  /// Adds a new item.
  void add(std::uint64_t hash, std::string_view key, std::string_view value);
  /// Executes a batch in three steps, in each of which memory accesses overlap: buckets, items, answers.
  void run(OwnedBatch& batch);

 private:
  static constexpr unsigned kEntries = 7;
  static constexpr std::uint64_t kPlace = (std::uint64_t{1} << 48) - 1;
  /// A cache line. An entry has 16 bits of the hash, and 48 that say where the item is. Zero: none.
  struct alignas(64) Bucket {
    std::array<std::uint64_t, kEntries> entries;
    std::uint64_t next;  ///< the number of a bucket with entries that do not fit; zero: none
  };
  struct Item {
    std::uint32_t key_bytes, value_bytes;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
    bool has(std::string_view key) { return key == std::string_view(bytes(), key_bytes); }
  };

  Bucket& bucket_of(std::uint64_t hash) { return buckets_.as<Bucket>()[hash & mask_]; }
  Item* item_at(std::uint64_t entry) { return reinterpret_cast<Item*>(items_.as<char>() + (entry & kPlace)); }
  void prefetch_item(std::uint64_t hash);
  Item* find(std::uint64_t hash, std::string_view key);

  const std::uint64_t mask_, most_buckets_, item_bytes_, most_bytes_;
  std::uint64_t next_bucket_, used_;
  AnonymousMemory buckets_, items_;
};

/// The owners of all items of a data set, one for each thread of the setup, and requests by the owners of their keys.
std::vector<std::unique_ptr<Owner>> owners_of(const Setup& setup, const DataSet& set);
std::vector<std::vector<Wanted>> by_owner(const DataSet& set, const std::vector<std::vector<Wanted>>& wanted);

}  // namespace holdfast::bench::store
