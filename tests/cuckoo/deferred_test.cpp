// deferred_test.cpp: an index whose changes reach another one later: every answer counts them at once, whatever has reached it.
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "entries.hpp"
#include "holdfast/error.hpp"
#include "structures/cuckoo/deferred_index.hpp"

namespace holdfast::cuckoo {
namespace {

/// The CPU's, whose searches in two steps are done when they begin: a GPU's may be.
class EarlyIndex final : public AnyIndex {
 public:
  explicit EarlyIndex(unsigned signature_bits) : index_({.capacity = 64, .signature_bits = signature_bits}) {}

  void search(std::span<const Hash> hashes, std::span<Location> locations) const override {
    index_.search(hashes, locations);
  }
  std::unique_ptr<Searching> searching() const override { return std::make_unique<Early>(index_); }
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists) const override {
    index_.candidates(hashes, lists);
  }
  void exchange(std::span<const Hash> hashes, std::span<const Location> old, std::span<const Location> locations,
                std::span<Outcome> outcomes) override {
    ++batches;
    if (amid) amid();
    index_.exchange(hashes, old, locations, outcomes);
    if (has_no_memory) outcomes.back() = Outcome::no_cell;
  }
  void erase(std::span<const Hash> hashes, std::span<const Location> locations, std::span<Outcome> outcomes) override {
    ++batches;
    index_.erase(hashes, locations, outcomes);
  }
  std::vector<Row> fill(std::span<const FreshRows> found) override { return index_.fill(found); }
  std::uint64_t size() const override { return index_.size(); }
  std::unique_ptr<AnyIndex> another(std::uint64_t) const override { return nullptr; }

  std::atomic<unsigned> batches = 0;
  bool has_no_memory = false;
  std::function<void()> amid;  ///< a batch of exchanges

 private:
  class Early final : public Searching {
   public:
    explicit Early(const cpu::CpuIndex& index) : index_(index) {}
    void begin(std::span<const Hash> hashes) override {
      found_.resize(hashes.size());
      index_.search(hashes, found_);
    }
    void finish(std::span<Location> locations) override { std::copy(found_.begin(), found_.end(), locations.begin()); }

   private:
    const cpu::CpuIndex& index_;
    std::vector<Location> found_;
  };
  cpu::CpuIndex index_;
};

constexpr unsigned kFewPlaces = 9;

/// What a caller makes of the answer of a search that began at `since`.
Location revised(DeferredIndex& index, Hash hash, Location found, std::uint64_t since) {
  const DeferredIndex::Revised now = index.revise(hash, found, since);
  if (now.is_certain) return now.location;
  Candidates list;
  index.candidates({&hash, 1}, {&list, 1});
  return list.size == 0 ? kNone : list.locations[0];
}

struct Deferred {
  explicit Deferred(unsigned signature_bits = 32, unsigned place_bits = kFewPlaces)
      : index(std::make_unique<EarlyIndex>(signature_bits), place_bits) {}
  EarlyIndex& other() { return static_cast<EarlyIndex&>(index.index()); }
  bool exchange(std::uint64_t key, Location old, Location next) { return index.exchange(hash_of(key), old, next); }
  Location search(std::uint64_t key) {
    const Hash hash = hash_of(key);
    const std::uint64_t since = index.moment();
    Location found = 0;
    index.search({&hash, 1}, {&found, 1});
    return revised(index, hash, found, since);
  }
  Candidates candidates(std::uint64_t key) {
    const Hash hash = hash_of(key);
    Candidates list;
    index.candidates({&hash, 1}, {&list, 1});
    return list;
  }
  DeferredIndex index;
};

/// What one thread's keys have.
class Owner {
 public:
  Owner(DeferredIndex& index, std::uint64_t first, std::uint64_t keys, unsigned seed)
      : index_(index), searching_(index.searching()), first_(first), locations_(keys, kNone), random_(seed) {}

  void change() {
    const std::uint64_t key = random_() % locations_.size();
    Location& its = locations_[key];
    const bool erases = its != kNone && random_() % 3 == 0;
    const Location old = its;
    its = erases ? kNone : static_cast<Location>((first_ + key) * 1000 + next_++ % 1000);
    ASSERT_TRUE(index_.exchange(hash_of(first_ + key), old, its));
    using Names = DeferredIndex::Names;
    if (its != kNone) {
      EXPECT_NE(index_.names(hash_of(first_ + key), its), Names::no);  // others may have given it up
    }
    if (old != kNone && old != its) {
      EXPECT_NE(index_.names(hash_of(first_ + key), old), Names::yes);
    }
  }
  /// All keys, by a search in two steps, among whose parts `meanwhile` runs, and by `candidates`.
  template <class Meanwhile>
  void verify(const Meanwhile& meanwhile) {
    std::vector<Hash> hashes;
    for (std::uint64_t key = 0; key < locations_.size(); ++key) hashes.push_back(hash_of(first_ + key));
    std::vector<Location> found(hashes.size());
    std::vector<Candidates> lists(hashes.size());
    const std::uint64_t since = index_.moment();
    searching_->begin(hashes);
    meanwhile();
    searching_->finish(found);
    for (std::size_t i = 0; i < hashes.size(); ++i) found[i] = revised(index_, hashes[i], found[i], since);
    index_.candidates(hashes, lists);
    std::size_t missed = 0, unlisted = 0, stale = 0;
    for (std::uint64_t key = 0; key < locations_.size(); ++key) {
      const Location its = locations_[key];
      missed += its != kNone && found[key] == kNone ? 1 : 0;
      unlisted += its != kNone && !contains(lists[key], its) ? 1 : 0;
      for (unsigned i = 0; i < lists[key].size; ++i) {
        const Location listed = lists[key].locations[i];
        stale += listed / 1000 == first_ + key && listed != its ? 1 : 0;
      }
    }
    EXPECT_EQ(missed, 0u);
    EXPECT_EQ(unlisted, 0u);
    EXPECT_EQ(stale, 0u) << "a location that was replaced or erased";
  }
  std::uint64_t size() const {
    return static_cast<std::uint64_t>(
        std::count_if(locations_.begin(), locations_.end(), [](Location at) { return at != kNone; }));
  }

 private:
  DeferredIndex& index_;
  std::unique_ptr<Searching> searching_;
  const std::uint64_t first_;
  std::vector<Location> locations_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
};

TEST(DeferredIndex, ChangesCountAtOnce) {
  for (const unsigned signature_bits : {10u, 32u}) {
    Deferred deferred(signature_bits);
    Owner owner(deferred.index, 0, 1500, signature_bits);
    for (unsigned round = 0; round < 60; ++round) {
      for (unsigned i = 0; i < 1 + round * 20; ++i) owner.change();
      if (round % 3 == 0) deferred.index.flush();
      owner.verify([&] {
        if (round % 2 == 0) deferred.index.flush();
      });
    }
    EXPECT_EQ(deferred.index.size(), owner.size());
  }
}

TEST(DeferredIndex, ManyChangesAreOneBatch) {
  Deferred deferred(32, DeferredIndex::kPlaceBits);
  for (std::uint64_t key = 0; key < 1000; ++key) {
    for (Location at = 0; at < 3; ++at) deferred.exchange(key, at == 0 ? kNone : at - 1, at);
  }
  EXPECT_EQ(deferred.other().batches, 0u);
  deferred.index.flush();
  EXPECT_EQ(deferred.other().batches, 1u);
  EXPECT_EQ(deferred.other().size(), 1000u);
  deferred.index.flush();
  EXPECT_EQ(deferred.other().batches, 1u) << "nothing waits";
  for (std::uint64_t key = 1000; key < 30'000; ++key) deferred.exchange(key, kNone, 1);
  EXPECT_GE(deferred.other().batches, 4u);
  EXPECT_LE(deferred.other().batches, 20u);
}

/// An entry whose end is in sight is made by no batch.
TEST(DeferredIndex, WhatIsErasedBeforeABatchNeedsNone) {
  Deferred deferred;
  deferred.exchange(1, kNone, 10);
  deferred.exchange(1, 10, kNone);
  deferred.exchange(2, kNone, 20);
  deferred.index.flush();
  deferred.exchange(2, 20, 21);
  deferred.exchange(2, 21, 20);
  deferred.index.flush();
  EXPECT_EQ(deferred.other().batches, 1u);
  EXPECT_EQ(deferred.search(1), kNone);
  EXPECT_EQ(deferred.search(2), 20u);
  EXPECT_EQ(deferred.candidates(2).size, 1u);
}

TEST(DeferredIndex, WhatChangesAmidABatchWaitsForTheNext) {
  Deferred deferred;
  for (const std::uint64_t key : {1, 2, 3}) deferred.exchange(key, kNone, 10);
  deferred.other().amid = [&] {
    deferred.other().amid = nullptr;
    deferred.exchange(1, 10, 11);
    deferred.exchange(2, 10, kNone);
    deferred.exchange(3, 10, 12);
    deferred.exchange(3, 12, 10);
  };
  deferred.index.flush();
  EXPECT_EQ(deferred.search(1), 11u);
  EXPECT_EQ(deferred.search(2), kNone);
  deferred.index.flush();
  const Hash hashes[] = {hash_of(1), hash_of(2), hash_of(3)};
  Location found[3] = {};
  deferred.other().search(hashes, found);
  EXPECT_EQ(std::vector(found, found + 3), (std::vector<Location>{11, kNone, 10}));
  EXPECT_EQ(deferred.other().batches, 3u) << "an exchange, an exchange and a removal";
}

/// The search found nothing in the other index, which the entry reached later, and the entry's place was given to others.
TEST(DeferredIndex, AnEntryThatIsGivenUpIsLookedFor) {
  Deferred deferred;
  const auto searching = deferred.index.searching();
  const Hash hashes[] = {hash_of(1), hash_of(2)};
  for (int round = 0; round < 3; ++round) {
    deferred.exchange(1, kNone, 10);
    const std::uint64_t since = deferred.index.moment();
    searching->begin(hashes);
    deferred.index.flush();
    for (std::uint64_t key = 1000; key < 6000; ++key) deferred.exchange(key, kNone, 5);
    for (std::uint64_t key = 1000; key < 6000; ++key) deferred.exchange(key, 5, kNone);
    EXPECT_EQ(deferred.index.revise(hashes[0], kNone, 0).location, kNone) << "it was not given up";
    EXPECT_FALSE(deferred.index.revise(hashes[0], kNone, 0).is_certain);
    Location found[2] = {};
    searching->finish(found);
    EXPECT_EQ(revised(deferred.index, hashes[0], found[0], since), 10u);
    EXPECT_EQ(revised(deferred.index, hashes[1], found[1], since), kNone);
    deferred.exchange(1, 10, kNone);
    EXPECT_TRUE(deferred.index.revise(hashes[0], kNone, deferred.index.moment()).is_certain);
  }
}

/// The search found nothing in the other index, which the entry reached later; and then it was changed, and was as before.
TEST(DeferredIndex, AnEntryThatIsAsItWasIsLookedFor) {
  Deferred deferred;
  const auto searching = deferred.index.searching();
  const Hash hash = hash_of(1);
  deferred.exchange(1, kNone, 10);
  searching->begin({&hash, 1});
  deferred.index.flush();
  deferred.exchange(1, 10, 11);
  deferred.exchange(1, 11, 10);
  deferred.index.flush();
  Location found = kNone;
  searching->finish({&found, 1});
  EXPECT_EQ(found, kNone);
  EXPECT_EQ(revised(deferred.index, hash, found, 0), 10u);
}

TEST(DeferredIndex, TwoKeysOfOneHash) {
  Deferred deferred;
  for (const bool flushes : {false, true}) {
    deferred.exchange(1, kNone, 10);
    if (flushes) deferred.index.flush();
    deferred.exchange(1, kNone, 20);  // another one's
    EXPECT_EQ(deferred.candidates(1).size, 2u);
    deferred.exchange(1, 10, 11);
    const Candidates list = deferred.candidates(1);
    EXPECT_EQ(list.size, 2u);
    EXPECT_TRUE(contains(list, 11) && contains(list, 20));
    deferred.exchange(1, 11, kNone);
    EXPECT_EQ(deferred.search(1), 20u);
    deferred.exchange(1, 20, kNone);
    EXPECT_EQ(deferred.search(1), kNone);
  }
}

TEST(DeferredIndex, ABatchThatFindsNoCellFails) {
  Deferred deferred;
  deferred.exchange(1, kNone, 10);
  deferred.other().has_no_memory = true;
  EXPECT_THROW(deferred.index.flush(), DeviceError);
}

TEST(DeferredIndex, NothingChangesWhenItIsClosed) {
  Deferred deferred;
  EXPECT_TRUE(deferred.exchange(1, kNone, 10));
  deferred.index.close();
  EXPECT_FALSE(deferred.exchange(1, 10, 11));
  EXPECT_EQ(deferred.index.revise(hash_of(1), kNone, 0).location, 10u);
}

#if defined(HOLDFAST_SANITIZED)
constexpr unsigned kDeferredRounds = 15;
#else
constexpr unsigned kDeferredRounds = 100;
#endif

TEST(DeferredIndex, ThreadsSeeTheirChanges) {
  for (const unsigned place_bits : {kFewPlaces, 13u}) {
    Deferred deferred(14, place_bits);
    std::vector<Owner> owners;
    owners.reserve(3);
    for (unsigned i = 0; i < 3; ++i) owners.emplace_back(deferred.index, i * 700, 700, i);
    std::vector<std::thread> threads;
    for (Owner& owner : owners) {
      threads.emplace_back([&] {
        for (unsigned round = 0; round < kDeferredRounds; ++round) {
          for (unsigned i = 0; i < 150; ++i) owner.change();
          owner.verify([] { std::this_thread::yield(); });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::uint64_t size = 0;
    for (const Owner& owner : owners) size += owner.size();
    EXPECT_EQ(deferred.index.size(), size);
  }
}

}  // namespace
}  // namespace holdfast::cuckoo
