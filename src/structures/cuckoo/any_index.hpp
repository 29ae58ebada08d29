// any_index.hpp: an `Index` behind virtual calls, for users who choose one when they run, and whose batches are large.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "structures/cuckoo/fresh_rows.hpp"
#include "structures/cuckoo/index.hpp"
#include "structures/cuckoo/searching.hpp"
#include "structures/cuckoo/under_way.hpp"

namespace holdfast::cuckoo {

/// The members of the concept `Index`, and of its users who rebuild it.
class AnyIndex {
 public:
  AnyIndex() = default;
  AnyIndex(const AnyIndex&) = delete;
  AnyIndex& operator=(const AnyIndex&) = delete;
  virtual ~AnyIndex() = default;

  virtual void search(std::span<const Hash> hashes, std::span<Location> locations) const = 0;
  virtual std::unique_ptr<Searching> searching() const = 0;
  virtual void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const = 0;
  virtual void exchange(std::span<const Hash> hashes, std::span<const Location> old,
                        std::span<const Location> locations, std::span<Outcome> outcomes) = 0;
  virtual void erase(std::span<const Hash> hashes, std::span<const Location> locations,
                     std::span<Outcome> outcomes) = 0;
  /// Begins a batch. An index without an asynchronous one executes it when it is finished.
  virtual std::unique_ptr<UnderWay> begin(const AnyBatch& batch) {
    return std::make_unique<ExecutedLater<AnyIndex>>(*this, batch);
  }
  /// Inserts rows that threads have collected, each in a FreshRows of as many parts, before anything else is called. Returns the rows that are not in
  /// it then: those of a signature that another row in their buckets has, as their keys may repeat, and those that found no cell.
  virtual std::vector<Row> fill(std::span<const FreshRows> found) = 0;
  virtual std::uint64_t size() const = 0;
  /// An empty one of this kind.
  virtual std::unique_ptr<AnyIndex> another(std::uint64_t capacity) const = 0;
};

template <Index I, class Options>
class AnyIndexOf final : public AnyIndex {
 public:
  explicit AnyIndexOf(const Options& options) : options_(options), index_(options) {}

  void search(std::span<const Hash> hashes, std::span<Location> locations) const override {
    index_.search(hashes, locations);
  }
  std::unique_ptr<Searching> searching() const override {
    if constexpr (requires { index_.searching(); }) {
      return index_.searching();
    } else {
      return std::make_unique<SearchingLater<I>>(index_);
    }
  }
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const override {
    index_.candidates(hashes, lists);
  }
  void exchange(std::span<const Hash> hashes, std::span<const Location> old, std::span<const Location> locations,
                std::span<Outcome> outcomes) override {
    index_.exchange(hashes, old, locations, outcomes);
  }
  void erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) override {
    index_.erase(hashes, locations, outcomes);
  }
  std::unique_ptr<UnderWay> begin(const AnyBatch& batch) override {
    if constexpr (requires { index_.begin(batch); }) {
      return index_.begin(batch);
    } else {
      return AnyIndex::begin(batch);
    }
  }
  std::vector<Row> fill(std::span<const FreshRows> found) override { return index_.fill(found); }
  std::uint64_t size() const override { return index_.size(); }
  std::unique_ptr<AnyIndex> another(std::uint64_t capacity) const override {
    Options options = options_;
    options.capacity = capacity;
    return std::make_unique<AnyIndexOf>(options);
  }
  I& index() { return index_; }

 private:
  const Options options_;
  I index_;
};

}  // namespace holdfast::cuckoo
