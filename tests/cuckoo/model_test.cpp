// model_test.cpp: the index's protocol (the code that ships) in every order of the accesses of two or three callers: searches beside moves,
// changes beside moves, inserts into one bucket, displacement. And each step left out, which must be noticed. Rules 24 and 25.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/model/world.hpp"
#include "structures/cuckoo/search.hpp"

namespace holdfast::cuckoo::model {
namespace {

constexpr OneThread kTile;

/// The n-th hash whose two buckets these are.
Hash hash_with(BucketNumber primary, BucketNumber other, unsigned n = 0) {
  for (std::uint64_t i = 1;; ++i) {  // ends: every pair of an even and an odd bucket occurs
    const Hash hash = mix(i);
    const Target target(kGeometry, hash);
    if (target.primary == primary && target.other == other && n-- == 0) return hash;
  }
}

constexpr Location kOld = 1, kNew = 2;

/// A key with its buckets.
struct Key {
  Hash hash;
  Location location;
  BucketNumber primary, other;

  Key(BucketNumber primary, BucketNumber other, Location location, unsigned n = 0)
      : hash(hash_with(primary, other, n)), location(location), primary(primary), other(other) {}
  Target target() const { return {kGeometry, hash}; }
  std::uint64_t entry(Location at) const { return entry_of(kGeometry.signature(hash), at); }
  std::uint64_t entry() const { return entry(location); }
};

class Scenario;
using Act = std::function<void(Scenario&)>;

/// What the callers do, one function each, from what state, and what must be true at the end.
class Scenario : public World {
 public:
  const char* name = "";
  std::uint64_t states = 0;  ///< that there are, exactly
  std::vector<std::pair<BucketNumber, std::uint64_t>> begin;
  std::vector<Act> callers;
  std::vector<std::uint64_t> finally;  ///< entries, each once, and no others

  unsigned count() const override { return static_cast<unsigned>(callers.size()); }
  void run(unsigned caller) override { callers[caller](*this); }

  // What callers do.
  ModelMemory memory() { return {this}; }
  Location find(const Key& key) { return cuckoo::search(kTile, memory(), key.target()); }
  bool is_candidate(const Key& key, Location location) {
    Location found[kMostCandidates];
    const unsigned size = cuckoo::candidates(memory(), key.target(), found);
    bool is = false;
    for (unsigned i = 0; i < size; ++i) is = is || found[i] == location;
    return is;
  }
  bool move(const Key& key, bool leaves, unsigned cell = 0) {
    return move_entry(kTile, memory(), kGeometry, leaves ? key.primary : key.other, cell,
                      leaves ? key.other : key.primary);
  }
  void add(const Key& key) {
    require(cuckoo::insert(kTile, memory(), kGeometry, key.target(), key.location).done, "an insert found no cell");
  }
  void replace(const Key& key) {
    require(cuckoo::replace(kTile, memory(), key.target(), kOld, kNew), "an entry to replace was not there");
    require(find(key) == kNew, "a caller does not see its own replacement");
  }
  void erase(const Key& key) {
    require(cuckoo::erase(kTile, memory(), key.target(), kOld), "an entry to erase was not there");
  }
  void must(bool holds, const char* wrong) { require(holds, wrong); }

 protected:
  void begin_state() override {
    unsigned used[kBuckets] = {};
    for (const auto& [bucket, entry] : begin) put(bucket, used[bucket]++, entry);
  }
  std::string end_state() const override {
    for (const std::uint64_t entry : finally) {
      if (copies_of(entry) != 1) return copies_of(entry) == 0 ? "an entry is lost" : "an entry is there twice";
    }
    return entries() == finally.size() ? "" : "an entry is there that should not be";
  }
};

Act search_for(const Key& key) {
  return [key](Scenario& s) { s.must(s.find(key) == key.location, "a search missed a key that was there"); };
}
Act list(const Key& key) {
  return [key](Scenario& s) { s.must(s.is_candidate(key, key.location), "a candidate is missing"); };
}
/// Once a search has returned the new location, no later one returns the old one.
Act search_twice(const Key& key) {
  return [key](Scenario& s) {
    const Location first = s.find(key), second = s.find(key);
    s.must(first != kNone && second != kNone, "a search missed a key that was there");
    s.must(first != kNew || second == kNew, "a later search found an older location");
  };
}
Act moves(const Key& key, std::vector<bool> leaves) {
  return [key, leaves](Scenario& s) {
    for (const bool leave : leaves) s.move(key, leave);
  };
}

/// All scenarios. Key K lies in buckets 0 and 1 where nothing else is said.
std::vector<std::function<Scenario()>> scenarios() {
  const Key k(0, 1, kOld), x(0, 1, 5, 1), y(0, 3, 6);
  std::vector<std::function<Scenario()>> all;
  const auto add = [&](const char* name, std::uint64_t states,
                       std::vector<std::pair<BucketNumber, std::uint64_t>> begin, std::vector<Act> callers,
                       std::vector<std::uint64_t> finally) {
    all.push_back([=] {
      Scenario scenario;
      scenario.name = name;
      scenario.states = states;
      scenario.begin = begin;
      scenario.callers = callers;
      scenario.finally = finally;
      return scenario;
    });
  };
  const auto K = k.entry();
  add("search, K leaves", 66, {{0, K}}, {search_for(k), moves(k, {true})}, {K});
  add("search, K returns", 415, {{1, K}}, {search_for(k), moves(k, {false})}, {K});
  add("search, K leaves and returns", 2677, {{0, K}}, {search_for(k), moves(k, {true, false, true})}, {K});
  add("search, K returns and leaves", 13711, {{1, K}}, {search_for(k), moves(k, {false, true, false})}, {K});
  add("candidates, K returns", 12285, {{1, K}}, {list(k), moves(k, {false, true})}, {K});
  add("search, two movers of K", 713, {{0, K}}, {search_for(k), moves(k, {true}), moves(k, {false})}, {K});
  add("replacement, K leaves", 274, {{0, K}}, {[=](Scenario& s) { s.replace(k); }, moves(k, {true})}, {k.entry(kNew)});
  add("replacement, K returns", 829, {{1, K}}, {[=](Scenario& s) { s.replace(k); }, moves(k, {false})},
      {k.entry(kNew)});
  add("replacement, search", 324961, {{1, K}}, {[=](Scenario& s) { s.replace(k); }, search_twice(k), moves(k, {false})},
      {k.entry(kNew)});
  const auto erase = [=](Scenario& s) {
    s.erase(k);
    s.must(s.find(k) == kNone, "a caller finds what it erased");
  };
  add("erasure, K leaves", 364, {{0, K}}, {erase, moves(k, {true})}, {});
  add("erasure, K returns", 371, {{1, K}}, {erase, moves(k, {false})}, {});
  add("erasure and another key's insert, K leaves", 204, {{0, K}},
      {[=](Scenario& s) {
         s.erase(k);
         s.add(y);
       },
       moves(k, {true})},
      {y.entry()});
  add("two movers of K", 135, {{0, K}}, {moves(k, {true}), moves(k, {true})}, {K});
  add("two inserts into one bucket", 43, {{0, x.entry(9)}},
      {[=](Scenario& s) { s.add(k); }, [=](Scenario& s) { s.add(x); }}, {K, x.entry(), x.entry(9)});
  add("three inserts of one signature", 439, {{0, k.entry(7)}},
      {[=](Scenario& s) { s.add(k); },
       [=](Scenario& s) { s.must(s.is_candidate(k, 7), "another key of the signature is missing"); },
       [=](Scenario& s) {
         s.must(cuckoo::insert(kTile, s.memory(), kGeometry, k.target(), 8).done, "an insert found no cell");
       }},
      {K, k.entry(7), k.entry(8)});
  // Z's buckets 2 and 1 are full; K makes space in 1 by going home, or Y in 2 by leaving for 3.
  const Key z(2, 1, 10), v(2, 3, 11), w(2, 3, 12, 1), u(3, 0, 13), t(0, 1, 14, 2);
  const std::vector<std::pair<BucketNumber, std::uint64_t>> full = {
      {2, v.entry()}, {2, w.entry()}, {1, K}, {1, t.entry()}};
  const std::vector<std::uint64_t> all_of_them = {z.entry(), v.entry(), w.entry(), K, t.entry()};
  const Act insert_z = [=](Scenario& s) { s.add(z); };
  add("search for V, an insert displaces it", 165, full, {search_for(v), insert_z}, all_of_them);
  const std::vector<std::pair<BucketNumber, std::uint64_t>> returning = {
      {2, v.entry()}, {2, w.entry()}, {1, K}, {1, t.entry()}, {3, u.entry()}, {3, u.entry(20)}};
  std::vector<std::uint64_t> more = all_of_them;
  more.insert(more.end(), {u.entry(), u.entry(20)});
  add("search for K, an insert displaces it", 1559, returning, {search_for(k), insert_z}, more);
  std::vector<std::uint64_t> replaced = more;
  replaced[3] = k.entry(kNew);
  add("replacement of K, an insert displaces it", 18064, returning, {[=](Scenario& s) { s.replace(k); }, insert_z},
      replaced);
  std::vector<std::uint64_t> erased = more;
  erased.erase(erased.begin() + 3);
  add("erasure of K, an insert displaces it", 5819, returning, {erase, insert_z}, erased);
  std::vector<std::uint64_t> both = all_of_them;
  const Key z2(2, 1, 21, 1);
  both.push_back(z2.entry());
  add("two inserts displace", 3046, full, {insert_z, [=](Scenario& s) { s.add(z2); }}, both);
  // Counts of one word: K stays in its other bucket while other entries of its primary bucket come and go.
  add("search for K, others return and leave", 6133, {{1, K}, {1, x.entry()}},
      {search_for(k), [=](Scenario& s) { s.move(x, false, 1); }, [=](Scenario& s) { s.add(y); }},
      {K, x.entry(), y.entry()});
  return all;
}

TEST(CuckooModel, EveryOrderOfAccessesIsRight) {
  std::uint64_t states = 0;
  for (const auto& make : scenarios()) {
    Scenario scenario = make();
    const proof::Explored seen = proof::explore(scenario);
    EXPECT_EQ(seen.failure, "") << scenario.name;
    EXPECT_TRUE(seen.complete) << scenario.name;
    EXPECT_EQ(seen.states, scenario.states) << scenario.name;
    states += seen.states;
  }
  std::cout << scenarios().size() << " scenarios, " << states << " states\n";
}

TEST(CuckooModel, EveryStepIsNeeded) {
  for (unsigned step = 0; step < static_cast<unsigned>(Step::count); ++step) {
    std::string failure;
    for (const auto& make : scenarios()) {
      Scenario scenario = make();
      scenario.left_out = static_cast<Step>(step);
      failure = proof::explore(scenario).failure;
      if (failure.empty()) continue;
      std::cout << "without step " << step << ": " << scenario.name << ": " << failure << "\n";
      break;
    }
    EXPECT_NE(failure, "") << "nothing fails without step " << step;
  }
}

}  // namespace
}  // namespace holdfast::cuckoo::model
