// sharded.hpp: a sharded index, as the suite wants one, over shards of any kind that tests look into.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "structures/cuckoo/arrays.hpp"
#include "structures/cuckoo/sharded_index.hpp"
#include "suite.hpp"

namespace holdfast::cuckoo {

/// `Shard` is an AnyIndexOf<I, …>. `make(i, options)` makes shard i, with the options of a shard.
template <class Shard, class I>
class WithShards {
 public:
  template <class Make>
  WithShards(std::size_t shards, Options options, const Make& make) {
    require_capacity(options.capacity);
    options.capacity = ShardedIndex::share(options.capacity, shards);
    std::vector<std::unique_ptr<AnyIndex>> made;
    for (std::size_t i = 0; i < shards; ++i) {
      std::unique_ptr<Shard> shard = make(i, options);
      shards_.push_back(&shard->index());
      made.push_back(std::move(shard));
    }
    index_ = std::make_unique<ShardedIndex>(std::move(made), 2);
  }
  void search(std::span<const Hash> hashes, std::span<Location> found) const { index_->search(hashes, found); }
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const {
    index_->candidates(hashes, lists);
  }
  void exchange(std::span<const Hash> hashes, std::span<const Location> old, std::span<const Location> locations,
                std::span<Outcome> outcomes) {
    index_->exchange(hashes, old, locations, outcomes);
  }
  void erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) {
    index_->erase(hashes, locations, outcomes);
  }
  std::vector<Row> fill(std::span<const FreshRows> found) { return index_->fill(found); }
  std::uint64_t build(std::span<const Hash> hashes, std::span<const Location> locations) {
    require_equal(hashes.size(), locations.size(), "locations");
    require_locations(locations);
    std::vector<FreshRows> rows;
    rows.emplace_back(hashes.size(), 1);
    for (std::size_t i = 0; i < hashes.size(); ++i) rows[0].add(hashes[i], locations[i]);
    std::uint64_t without_cell = 0;
    for (const Row& row : fill(rows)) {  // a GPU gives back a few, whose signatures others have, too
      Outcome outcome{};
      exchange({&row.hash, 1}, {&kNone, 1}, {&row.location, 1}, {&outcome, 1});
      without_cell += outcome == Outcome::no_cell;
    }
    return without_cell;
  }
  void reserve(std::uint64_t entries) {
    require_capacity(entries);
    for (I* const shard : shards_) shard->reserve(ShardedIndex::share(entries, shards_.size()));
  }
  std::uint64_t size() const { return index_->size(); }
  std::uint64_t cells() const { return sum(&I::cells); }
  std::uint64_t moves() const { return sum(&I::moves); }
  ShardedIndex& index() { return *index_; }
  const I& shard(std::size_t i) const { return *shards_[i]; }

 private:
  std::uint64_t sum(std::uint64_t (I::*member)() const) const {
    std::uint64_t all = 0;
    for (const I* const shard : shards_) all += (shard->*member)();
    return all;
  }
  std::vector<I*> shards_;
  std::unique_ptr<ShardedIndex> index_;
};

}  // namespace holdfast::cuckoo
