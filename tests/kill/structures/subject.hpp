// subject.hpp: a persistent hash table that two threads change, each its own keys, while it grows. A file for each scheme registers it.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"
#include "proof/kill/calls.hpp"
#include "proof/kill/oracle.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
constexpr const char* kHashedCalls[] = {"making", "insert", "assign", "erase", "grow", "between"};
enum HashedCall : std::uint32_t { kMaking, kInsert, kAssign, kErase, kGrow, kBetween };

/// What the writer's table is like.
struct HashedRound {
  std::uint32_t item_bytes, group_size, flush;
  std::uint64_t seed;
};

/// A scheme under kills.
struct KilledScheme {
  const char* name;
  HashTable (*create)(Pool& pool, const HashedRound& round);
  HashTable (*open)(Pool& pool);
  std::vector<Stop> stops;
  /// Whether a table of such items passes the stop.
  bool (*passes)(const Stop& stop, bool wide);
  /// What its recovery passes behind a stop.
  RecoveryFailpoints (*mended_at)(Failpoint at);
};

constexpr unsigned kHashedThreads = 2;
constexpr std::uint64_t kHashedKeys = 2048;
constexpr std::uint64_t kSomeCells = 1 << 14;  ///< a table that has more grows only where a writer is to stop in it

/// What a thread is at. Its key has the value that is acknowledged, or the one that it is given.
struct HashedPending {
  std::atomic<std::uint32_t> call;  ///< kBetween: none
  std::uint64_t key, value;         ///< 0: it is erased
};

struct HashedShared {
  CallState calls;
  HashedRound round;
  HashedPending pending[kHashedThreads];
  std::uint64_t acknowledged[kHashedKeys];  ///< the values; 0: absent
  std::uint64_t found_table, found_size;
  std::uint64_t found[kHashedKeys];
  std::uint64_t foreign;  ///< items found that were never written, or twice
};

/// A key or a value that stands for a number.
struct Number {
  explicit Number(std::uint64_t number) : words{number, ~number * 5} {}
  bool is_whole(std::uint32_t bytes) const { return bytes == 8 || words[1] == ~words[0] * 5; }
  std::uint64_t words[2];
};

template <const KilledScheme& kScheme>
class HashedWriter : public Writer {
 public:
  explicit HashedWriter(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    table_.emplace(pool_->objects().empty() ? kScheme.create(*pool_, ours_.round) : kScheme.open(*pool_));
  }
  unsigned threads() const override { return kHashedThreads; }
  void call(unsigned thread) override {
    Random random(mix(mix(ours_.round.seed, shared_.life), thread));
    for (;;) {  // ends: it is killed
      const bool stops = ours_.calls.stops() && ours_.calls.stop_in == kGrow;
      if (stops ? random.chance(50) : random.below(500) == 0 && table_->cells() < kSomeCells) {
        run(kGrow, [&] { table_->reserve(table_->cells() + 1); });
      } else {
        change(thread, random);
      }
    }
  }

 private:
  template <class Act>
  void run(HashedCall call, const Act& act) {
    ours_.calls.begun.fetch_add(1);
    ours_.calls.run(shared_, call, act);
  }
  void change(unsigned thread, Random& random) {
    const std::uint64_t key = random.below(kHashedKeys / kHashedThreads) * kHashedThreads + thread;
    std::uint64_t& acknowledged = ours_.acknowledged[key];
    const bool is_there = acknowledged != 0;
    const HashedCall call = !is_there ? kInsert : random.chance(70) ? kAssign : kErase;
    HashedPending& pending = ours_.pending[thread];
    const std::uint64_t value = call == kErase ? 0 : random.next() | 1;
    pending.key = key;
    pending.value = value;
    pending.call.store(call, std::memory_order_release);
    run(call, [&] {
      const Number its_key(key), its_value(value);
      Status status = Status::not_run;
      if (call == kInsert) status = table_->insert(its_key.words, its_value.words);
      if (call == kAssign) status = table_->assign(its_key.words, its_value.words);
      if (call == kErase) status = table_->erase(its_key.words);
      const Status expected = call == kInsert ? Status::inserted : call == kAssign ? Status::updated : Status::erased;
      if (status != expected)
        throw Error("a change of key " + std::to_string(key) + " says " + std::to_string(static_cast<int>(status)));
      acknowledged = value;
    });
    pending.call.store(kBetween, std::memory_order_release);
  }

  Shared& shared_;
  HashedShared& ours_ = shared_.part<HashedShared>();
  std::optional<Pool> pool_;
  std::optional<HashTable> table_;
};

template <const KilledScheme& kScheme>
class HashedReader : public Reader {
 public:
  explicit HashedReader(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(Pool::open(shared_.path));
    if (!pool_->objects().empty()) table_.emplace(kScheme.open(*pool_));
  }
  void look() override {
    if (!table_) return;
    auto& ours = shared_.part<HashedShared>();
    ours.found_table = 1;
    ours.found_size = table_->size();
    table_->for_each([&](const void* key, const void* value) {
      Number its_key(0), its_value(0);
      std::memcpy(its_key.words, key, table_->key_bytes());
      std::memcpy(its_value.words, value, table_->key_bytes());
      const bool is_ours = its_key.is_whole(table_->key_bytes()) && its_value.is_whole(table_->key_bytes()) &&
                           its_key.words[0] < kHashedKeys && ours.found[its_key.words[0]] == 0;
      if (is_ours) {
        ours.found[its_key.words[0]] = its_value.words[0];
      } else {
        ++ours.foreign;
      }
      return true;
    });
    const CheckReport report = table_->check();
    if (!report.errors.empty()) copy_text(shared_.recovered.check_errors, report.errors.front());
  }
  void close() override { pool_->close(); }

 private:
  Shared& shared_;
  std::optional<Pool> pool_;
  std::optional<HashTable> table_;
};

template <const KilledScheme& kScheme>
class HashedSubject : public SubjectOfCalls {
 public:
  HashedSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<HashedShared>().calls, kHashedCalls, kScheme.stops) {}

  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    round_ = {random.chance(60) ? 32u : 16u, 64u << random.below(3), random.chance(50) ? 1u : 0u, seed | 1};
    std::fill_n(ours_.acknowledged, kHashedKeys, 0);
    return 4 + random.below(10);
  }
  /// Those that a table of its items passes.
  std::vector<Stop> stops(bool exists) const override {
    std::vector<Stop> some = SubjectOfCalls::stops(exists);
    std::erase_if(some, [&](const Stop& stop) { return !kScheme.passes(stop, round_.item_bytes == 32); });
    return some;
  }
  RecoveryFailpoints mended_at(Failpoint at) const override { return kScheme.mended_at(at); }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    ours_.round = round_;
    for (HashedPending& pending : ours_.pending) pending.call = kBetween;
  }
  Pace pace() const override { return {.longest_us = 20'000, .call_bits = 12, .patience_us = 1'000'000}; }

  std::vector<std::string> replay(bool) override {
    std::uint32_t call = kBetween;
    values_.settle();
    for (std::uint64_t key = 0; key < kHashedKeys; ++key) values_.set(key, ours_.acknowledged[key]);
    for (const HashedPending& pending : ours_.pending) {
      call = std::min(call, pending.call.load());
      if (pending.call != kBetween) values_.may_become(pending.key, pending.value);
    }
    ended_in(call);
    return {};
  }
  void forget_found() override {
    ours_.found_table = ours_.found_size = ours_.foreign = 0;
    std::fill_n(ours_.found, kHashedKeys, 0);
  }
  /// Each key has the acknowledged value, or the one of a call that was not acknowledged.
  std::vector<std::string> verify() override {
    if (shared_.recovered.check_errors[0] != 0) return {shared_.recovered.check_errors};
    if (ours_.found_table == 0)
      return kind() == kMaking ? std::vector<std::string>{} : std::vector{std::string("it is gone")};
    if (ours_.foreign != 0) return {std::to_string(ours_.foreign) + " items are torn, foreign or there twice"};
    std::uint64_t items = 0;
    for (std::uint64_t key = 0; key < kHashedKeys; ++key) {
      const std::uint64_t found = ours_.found[key];
      items += found != 0 ? 1 : 0;
      if (!values_.found(key, found)) return {"key " + std::to_string(key) + " has a value that no call gave it"};
      ours_.acknowledged[key] = found;
    }
    if (items != ours_.found_size)
      return {"its size is " + std::to_string(ours_.found_size) + ", not " + std::to_string(items)};
    ++verified_;
    items_ += items;
    return {};
  }
  std::string about() const override {
    return "items of " + std::to_string(round_.item_bytes) + " bytes" +
           (round_.group_size != 0 ? ", groups of " + std::to_string(round_.group_size) : "") +
           (round_.flush != 0 ? ", flushed" : "") + ", killed in " + kind_name();
  }
  /// Of 200 kills some stop at each failpoint.
  std::string lacking(const KillCounts& counts, std::uint64_t planned) const override {
    std::string lines = few("tables were verified", verified_, planned / 2);
    if (options_.stops == 0 || planned < 200) return lines;
    return lines + never_stopped(counts) + few("unacknowledged calls were kept", values_.kept(), 5);
  }
  void add_to(Results& results) const override {
    results.add("tables_verified", verified_);
    results.add("items_verified", items_);
    results.add("pending_calls_kept", values_.kept());
  }

 protected:
  std::uint64_t first_stop(Random& random) const override { return 1 + random.below(random.chance(50) ? 100 : 2'000); }

 private:
  HashedShared& ours_ = shared_.part<HashedShared>();
  HashedRound round_ = {};
  PossibleValues<std::uint64_t> values_{kHashedKeys};
  std::uint64_t verified_ = 0, items_ = 0;
};

/// `share`: of a hundred kills of each subject.
template <const KilledScheme& kScheme>
struct RegisterHashed {
  RegisterSubject<HashedSubject<kScheme>, HashedShared> subject;
  RegisterChildren<HashedWriter<kScheme>, HashedReader<kScheme>> children{kScheme.name};
  explicit RegisterHashed(unsigned share) : subject({.name = kScheme.name, .share = share}) {}
};

}  // namespace holdfast::proof::kill
