// subject.cpp: the subject group: a group table that two threads change, each its own keys, while it grows.
#include <algorithm>
#include <cstring>
#include <optional>

#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"
#include "proof/kill/calls.hpp"
#include "proof/kill/oracle.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {
namespace {

constexpr const char* kGroupCalls[] = {"making", "insert", "assign", "erase", "grow", "between"};
enum GroupCall : std::uint32_t { kMaking, kInsert, kAssign, kErase, kGrow, kBetween };

constexpr Stop kGroupStops[] = {
    {Failpoint::pool_unnamed, kMaking},        {Failpoint::cell_filled, kInsert, 2, 4},
    {Failpoint::bit_set, kInsert, 1, 4},       {Failpoint::cell_filled, kAssign, 1, 4},
    {Failpoint::both_bits_set, kAssign, 3, 4}, {Failpoint::value_replaced, kAssign, 1, 4},
    {Failpoint::bit_cleared, kErase, 1, 4},    {Failpoint::larger_filled, kGrow},
    {Failpoint::directory_written, kGrow},     {Failpoint::copy_half_written, kGrow},
    {Failpoint::larger_committed, kGrow},
};

constexpr unsigned kGroupThreads = 2;
constexpr std::uint64_t kGroupKeys = 2048;
constexpr std::uint64_t kSomeCells = 1 << 14;  ///< a table that has more grows only where a writer is to stop in it

/// The table of a pool.
struct GroupRound {
  std::uint32_t item_bytes, group_size, flush;
  std::uint64_t seed;
};

/// What a thread is at. Its key has the value that is acknowledged, or the one that it is given.
struct GroupPending {
  std::atomic<std::uint32_t> call;  ///< kBetween: none
  std::uint64_t key, value;         ///< 0: it is erased
};

struct GroupShared {
  CallState calls;
  GroupRound round;
  GroupPending pending[kGroupThreads];
  std::uint64_t acknowledged[kGroupKeys];  ///< the values; 0: absent
  std::uint64_t found_table, found_size;
  std::uint64_t found[kGroupKeys];
  std::uint64_t foreign;  ///< items found that were never written, or twice
};

/// A key or a value that stands for a number.
struct Number {
  explicit Number(std::uint64_t number) : words{number, ~number * 5} {}
  bool is_whole(std::uint32_t bytes) const { return bytes == 8 || words[1] == ~words[0] * 5; }
  std::uint64_t words[2];
};

class GroupWriter : public Writer {
 public:
  explicit GroupWriter(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    const GroupRound& round = ours_.round;
    const GroupTableOptions options{.item_bytes = round.item_bytes,
                                    .cells = 1,
                                    .group_size = round.group_size,
                                    .seed = round.seed,
                                    .flush = round.flush != 0};
    table_.emplace(pool_->objects().empty() ? GroupTable::create(*pool_, "g", options)
                                            : GroupTable::open(*pool_, "g", options));
  }
  unsigned threads() const override { return kGroupThreads; }
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
  void run(GroupCall call, const Act& act) {
    ours_.calls.begun.fetch_add(1);
    ours_.calls.run(shared_, call, act);
  }
  void change(unsigned thread, Random& random) {
    const std::uint64_t key = random.below(kGroupKeys / kGroupThreads) * kGroupThreads + thread;
    std::uint64_t& acknowledged = ours_.acknowledged[key];
    const bool is_there = acknowledged != 0;
    const GroupCall call = !is_there ? kInsert : random.chance(70) ? kAssign : kErase;
    GroupPending& pending = ours_.pending[thread];
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
  GroupShared& ours_ = shared_.part<GroupShared>();
  std::optional<Pool> pool_;
  std::optional<GroupTable> table_;
};

class GroupReader : public Reader {
 public:
  explicit GroupReader(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(Pool::open(shared_.path));
    if (!pool_->objects().empty()) table_.emplace(GroupTable::open(*pool_, "g"));
  }
  void look() override {
    if (!table_) return;
    auto& ours = shared_.part<GroupShared>();
    ours.found_table = 1;
    ours.found_size = table_->size();
    table_->for_each([&](const void* key, const void* value) {
      Number its_key(0), its_value(0);
      std::memcpy(its_key.words, key, table_->key_bytes());
      std::memcpy(its_value.words, value, table_->key_bytes());
      const bool is_ours = its_key.is_whole(table_->key_bytes()) && its_value.is_whole(table_->key_bytes()) &&
                           its_key.words[0] < kGroupKeys && ours.found[its_key.words[0]] == 0;
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
  std::optional<GroupTable> table_;
};

class GroupSubject : public SubjectOfCalls {
 public:
  GroupSubject(const Options& options, Shared& shared)
      : SubjectOfCalls(options, shared, shared.part<GroupShared>().calls, kGroupCalls, kGroupStops) {}

  std::uint64_t begin_pool(std::uint64_t seed, bool, Random& random) override {
    round_ = {random.chance(60) ? 32u : 16u, 64u << random.below(3), random.chance(50) ? 1u : 0u, seed | 1};
    std::fill_n(ours_.acknowledged, kGroupKeys, 0);
    return 4 + random.below(10);
  }
  /// Those that a table of its items passes.
  std::vector<Stop> stops(bool exists) const override {
    std::vector<Stop> some = SubjectOfCalls::stops(exists);
    const bool wide = round_.item_bytes == 32;
    std::erase_if(some, [&](const Stop& stop) {
      if (stop.at == Failpoint::value_replaced) return wide;
      return stop.kind == kAssign && !wide;
    });
    return some;
  }
  RecoveryFailpoints mended_at(Failpoint at) const override {
    return at == Failpoint::both_bits_set ? list({Failpoint::duplicate_cleared}) : RecoveryFailpoints{};
  }
  void begin_life(const Stop& stop, Random& random) override {
    SubjectOfCalls::begin_life(stop, random);
    ours_.round = round_;
    for (GroupPending& pending : ours_.pending) pending.call = kBetween;
  }
  Pace pace() const override { return {.longest_us = 20'000, .call_bits = 12, .patience_us = 1'000'000}; }

  std::vector<std::string> replay(bool) override {
    std::uint32_t call = kBetween;
    values_.settle();
    for (std::uint64_t key = 0; key < kGroupKeys; ++key) values_.set(key, ours_.acknowledged[key]);
    for (const GroupPending& pending : ours_.pending) {
      call = std::min(call, pending.call.load());
      if (pending.call != kBetween) values_.may_become(pending.key, pending.value);
    }
    ended_in(call);
    return {};
  }
  void forget_found() override {
    ours_.found_table = ours_.found_size = ours_.foreign = 0;
    std::fill_n(ours_.found, kGroupKeys, 0);
  }
  /// Each key has the acknowledged value, or the one of a call that was not acknowledged.
  std::vector<std::string> verify() override {
    if (shared_.recovered.check_errors[0] != 0) return {shared_.recovered.check_errors};
    if (ours_.found_table == 0)
      return kind() == kMaking ? std::vector<std::string>{} : std::vector{std::string("it is gone")};
    if (ours_.foreign != 0) return {std::to_string(ours_.foreign) + " items are torn, foreign or there twice"};
    std::uint64_t items = 0;
    for (std::uint64_t key = 0; key < kGroupKeys; ++key) {
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
    return "items of " + std::to_string(round_.item_bytes) + " bytes, groups of " + std::to_string(round_.group_size) +
           (round_.flush != 0 ? ", flushed" : "") + ", killed in " + kind_name();
  }
  /// Of 200 kills some stop at each failpoint.
  std::string lacking(const Counts& counts, std::uint64_t planned) const override {
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
  GroupShared& ours_ = shared_.part<GroupShared>();
  GroupRound round_ = {};
  PossibleValues<std::uint64_t> values_{kGroupKeys};
  std::uint64_t verified_ = 0, items_ = 0;
};

const RegisterSubject<GroupSubject, GroupShared> group_subject{{.name = "group", .share = 50}};
const RegisterChildren<GroupWriter, GroupReader> group_children{"group"};

}  // namespace
}  // namespace holdfast::proof::kill
