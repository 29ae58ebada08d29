// sharded_index.cpp: divides batches among shards, and puts their answers into the caller's rows.
#include "structures/cuckoo/sharded_index.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "core/both.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::cuckoo {

/// The rows of a batch in the order of their shards. An array in that order is called sorted.
class ShardOrder {
 public:
  void sort(std::span<const Hash> hashes, std::size_t shards) {
    HOLDFAST_ASSERT(shards <= kMostShards);
    shards_.resize(hashes.size());
    first_.assign(shards + 1, 0);
    for (std::size_t row = 0; row < hashes.size(); ++row) {
      const std::size_t its = shard_of(hashes[row], shards);
      shards_[row] = static_cast<std::uint8_t>(its);
      ++first_[its + 1];
    }
    for (std::size_t shard = 0; shard < shards; ++shard) first_[shard + 1] += first_[shard];
    next_.assign(first_.begin(), first_.end() - 1);
    rows_.resize(hashes.size());
    for (std::size_t row = 0; row < hashes.size(); ++row) {
      rows_[next_[shards_[row]]++] = static_cast<std::uint32_t>(row);
    }
  }

  /// The elements of a sorted array that are of a shard. An array that the batch does not have is empty.
  template <class T>
  std::span<T> of(std::size_t shard, std::vector<T>& sorted) const {
    return sorted.empty() ? std::span<T>() : std::span(sorted).subspan(first_[shard], size(shard));
  }
  std::size_t size(std::size_t shard) const { return first_[shard + 1] - first_[shard]; }

  template <class T>
  void sort_array(std::span<const T> array, std::vector<T>& sorted) const {
    sorted.resize(array.size());
    for (std::size_t at = 0; at < sorted.size(); ++at) sorted[at] = array[rows_[at]];
  }
  template <class T>
  void put_back(const std::vector<T>& sorted, std::span<T> array) const {
    for (std::size_t at = 0; at < sorted.size(); ++at) array[rows_[at]] = sorted[at];
  }

 private:
  std::vector<std::uint8_t> shards_;  ///< by row
  std::vector<std::size_t> first_, next_;
  std::vector<std::uint32_t> rows_;
};

namespace {

/// Rows of a round: each shard gets at most so many at once, and the next round is divided while they are executed.
constexpr std::size_t kRoundRows = std::size_t{1} << 16;

/// Rows [from, from + rows) of an array that the batch has.
template <class T>
std::span<T> of_round(std::span<T> array, std::size_t from, std::size_t rows) {
  return array.empty() ? array : array.subspan(from, rows);
}

}  // namespace

/// Some rows of a batch, under way in all shards.
class ShardedIndex::Round {
 public:
  void begin(const std::vector<std::unique_ptr<AnyIndex>>& shards, const AnyBatch& batch) {
    HOLDFAST_ASSERT(under_way_.empty());
    batch_ = batch;
    order_.sort(batch.hashes, shards.size());
    order_.sort_array(batch.hashes, hashes_);
    order_.sort_array(batch.old, old_);
    order_.sort_array(batch.locations, locations_);
    found_.resize(batch.found.size());
    lists_.resize(batch.lists.size());
    outcomes_.resize(batch.outcomes.size());
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      if (order_.size(shard) == 0) continue;
      under_way_.push_back(shards[shard]->begin({batch.kind, order_.of(shard, hashes_), order_.of(shard, old_),
                                                 order_.of(shard, locations_), order_.of(shard, found_),
                                                 order_.of(shard, lists_), order_.of(shard, outcomes_)}));
    }
  }
  /// Does nothing where no rows are under way. If it throws, the round ends.
  void finish() {
    if (under_way_.empty()) return;
    for (const std::unique_ptr<UnderWay>& its : under_way_) its->finish();
    under_way_.clear();
    order_.put_back(found_, batch_.found);
    order_.put_back(lists_, batch_.lists);
    order_.put_back(outcomes_, batch_.outcomes);
  }

 private:
  AnyBatch batch_;
  ShardOrder order_;
  std::vector<Hash> hashes_;
  std::vector<Location> old_, locations_, found_;
  std::vector<Candidates> lists_;
  std::vector<Outcome> outcomes_;
  std::vector<std::unique_ptr<UnderWay>> under_way_;  ///< destroyed first: they use the arrays
};

/// It may end after the index, as its parts may.
class ShardedIndex::Searches final : public Searching {
 public:
  explicit Searches(const std::vector<std::unique_ptr<AnyIndex>>& shards) {
    for (const auto& shard : shards) shards_.push_back(shard->searching());
  }
  void begin(std::span<const Hash> hashes) override {
    order_.sort(hashes, shards_.size());
    order_.sort_array(hashes, hashes_);
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      if (order_.size(shard) != 0) shards_[shard]->begin(order_.of(shard, hashes_));
    }
  }
  void finish(std::span<Location> locations) override {
    found_.resize(hashes_.size());
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      if (order_.size(shard) != 0) shards_[shard]->finish(order_.of(shard, found_));
    }
    order_.put_back(found_, locations);
  }

 private:
  std::vector<std::unique_ptr<Searching>> shards_;
  ShardOrder order_;
  std::vector<Hash> hashes_;
  std::vector<Location> found_;
};

ShardedIndex::ShardedIndex(std::vector<std::unique_ptr<AnyIndex>> shards, unsigned threads)
    : shards_(std::move(shards)), threads_(std::max(1u, threads)) {
  HOLDFAST_ASSERT(!shards_.empty() && shards_.size() <= kMostShards);
}

void ShardedIndex::execute_rounds(const AnyBatch& batch) const {
  require_batch(batch);
  const std::size_t size = batch.hashes.size();
  if (size == 1) return execute(*shards_[shard_of(batch.hashes[0], shards_.size())], batch);
  Round rounds[2];
  unsigned next = 0;
  for (std::size_t from = 0, rows = 0; from < size; from += rows, next = 1 - next) {
    rows = std::min(size - from, kRoundRows);
    rounds[next].finish();
    rounds[next].begin(shards_, {batch.kind, of_round(batch.hashes, from, rows), of_round(batch.old, from, rows),
                                 of_round(batch.locations, from, rows), of_round(batch.found, from, rows),
                                 of_round(batch.lists, from, rows), of_round(batch.outcomes, from, rows)});
  }
  rounds[next].finish();
  rounds[1 - next].finish();
}

void ShardedIndex::search(std::span<const Hash> hashes, std::span<Location> locations) const {
  execute_rounds({.kind = AnyBatch::Kind::search, .hashes = hashes, .found = locations});
}

std::unique_ptr<Searching> ShardedIndex::searching() const { return std::make_unique<Searches>(shards_); }

void ShardedIndex::candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const {
  execute_rounds({.kind = AnyBatch::Kind::candidates, .hashes = hashes, .lists = lists});
}

void ShardedIndex::exchange(std::span<const Hash> hashes, std::span<const Location> old,
                            std::span<const Location> locations, std::span<Outcome> outcomes) {
  execute_rounds({AnyBatch::Kind::exchange, hashes, old, locations, {}, {}, outcomes});
}

void ShardedIndex::erase(std::span<const Hash> hashes, std::span<const Location> locations,
                         std::span<Outcome> outcomes) {
  execute_rounds({AnyBatch::Kind::erase, hashes, {}, locations, {}, {}, outcomes});
}

std::vector<Row> ShardedIndex::fill(std::span<const FreshRows> found) {
  if (found.empty()) return {};
  const auto part_bits = static_cast<unsigned>(std::countr_zero(found.front().parts()));
  std::vector<std::vector<FreshRows>> rows(shards_.size());
  for (std::vector<FreshRows>& its : rows) {
    for (const FreshRows& one : found) its.emplace_back(share(one.size(), shards_.size()), part_bits);
  }
  threads::ThreadTeam(threads_).run(threads_, [&](unsigned thread, unsigned threads) {
    std::vector<std::span<const Row>> spans;
    for (std::size_t i = thread; i < found.size(); i += threads) {
      spans.clear();
      for (std::size_t its = 0; its < found[i].parts(); ++its) found[i].list(its, spans);
      for (const std::span<const Row> some : spans) {
        for (const Row& row : some) rows[shard_of(row.hash, shards_.size())][i].add(row.hash, row.location);
      }
    }
  });
  std::vector<Row> again;
  std::mutex mutex;
  const auto shards = static_cast<unsigned>(shards_.size());
  threads::ThreadTeam(shards).run(shards, [&](unsigned thread, unsigned threads) {
    for (std::size_t shard = thread; shard < shards_.size(); shard += threads) {
      const std::vector<Row> its = shards_[shard]->fill(rows[shard]);
      const std::lock_guard lock(mutex);
      again.insert(again.end(), its.begin(), its.end());
    }
  });
  return again;
}

std::uint64_t ShardedIndex::size() const {
  std::uint64_t size = 0;
  for (const auto& shard : shards_) size += shard->size();
  return size;
}

std::unique_ptr<AnyIndex> ShardedIndex::another(std::uint64_t capacity) const {
  std::vector<std::unique_ptr<AnyIndex>> shards;
  for (const auto& shard : shards_) shards.push_back(shard->another(share(capacity, shards_.size())));
  return std::make_unique<ShardedIndex>(std::move(shards), threads_);
}

}  // namespace holdfast::cuckoo
