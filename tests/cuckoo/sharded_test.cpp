// sharded_test.cpp: the suite over an index of one, two and three shards on the CPU; the share of each; rows that are filled in; shards under way together.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "filled.hpp"
#include "sharded.hpp"

namespace holdfast::cuckoo {
namespace {

using CpuShard = AnyIndexOf<cpu::CpuIndex, cpu::CpuOptions>;
using CpuShards = WithShards<CpuShard, cpu::CpuIndex>;
static_assert(Index<CpuShards>);

CpuShards cpu_shards(std::size_t shards, const Options& options) {
  return {shards, options, [](std::size_t, const Options& its) {
            return std::make_unique<CpuShard>(
                cpu::CpuOptions{.capacity = its.capacity, .signature_bits = its.signature_bits});
          }};
}

template <std::size_t kShards>
struct Sharded {
  static constexpr std::uint64_t kGrownCells = kShards == 3 ? std::uint64_t{3} << 18 : std::uint64_t{1} << 19;
  static bool available() { return true; }
  static CpuShards make(const Options& options) { return cpu_shards(kShards, options); }
};
using ShardedMakers = testing::Types<Sharded<1>, Sharded<2>, Sharded<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Shards, IndexSuite, ShardedMakers);

TEST(ShardedIndex, EachShardHasItsShareOfTheHashes) {
  constexpr std::uint64_t kHashes = 100'000;
  for (std::size_t shards = 1; shards <= 9; ++shards) {
    std::vector<std::uint64_t> rows(shards);
    for (std::uint64_t i = 0; i < kHashes; ++i) ++rows[shard_of(hash_of(i), shards)];
    for (const std::uint64_t each : rows) {
      EXPECT_NEAR(static_cast<double>(each), static_cast<double>(kHashes / shards), 1200.0) << shards;
    }
  }
}

/// Those of one bucket and one signature, too: no index addresses by the upper three bits.
TEST(ShardedIndex, EachShardHasEveryBucketAndSignature) {
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const Hash low = hash_of(key) << 3 >> 3;
    const Geometry largest{kMostBits, kMostBits, ~0u};
    for (std::size_t shards = 1; shards <= 8; ++shards) {
      std::array<std::uint64_t, 8> rows{};
      for (Hash high = 0; high < 8; ++high) {
        const Hash hash = high << 61 | low;
        ASSERT_EQ(Target(largest, hash).primary, Target(largest, low).primary);
        ASSERT_EQ(Target(largest, hash).signature, Target(largest, low).signature);
        ++rows[shard_of(hash, shards)];
      }
      for (std::size_t i = 0; i < shards; ++i) {
        ASSERT_GE(rows[i], 8 / shards);
        ASSERT_LE(rows[i], (8 + shards - 1) / shards);
      }
    }
  }
}

TEST(ShardedIndex, AShardGrowsAlone) {
  CpuShards index = cpu_shards(3, {.capacity = 3000});
  const std::uint64_t cells = index.shard(0).cells();
  std::unordered_map<std::uint64_t, Location> expected;
  Batch batch;
  for (std::uint64_t key = 0; batch.size() < 20'000; ++key) {
    if (shard_of(hash_of(key), 3) != 1 && key % 50 != 0) continue;
    batch.add(key, kNone, static_cast<Location>(key));
    expected[key] = static_cast<Location>(key);
  }
  exchange(index, batch);
  EXPECT_EQ(count(batch, Outcome::inserted), batch.size());
  expect_candidates(index, expected);
  EXPECT_GT(index.shard(1).cells(), 8 * cells);
  EXPECT_EQ(index.shard(0).cells(), cells);
  EXPECT_EQ(index.shard(2).cells(), cells);
}

TEST(ShardedIndex, IsFilledFromCollectedRows) {
  const FillCase cases[] = {{0, 0, 0},
                            {1, 0, 1},
                            {20'000, 0, 20'000},
                            {300'000, 0, 3'000'000},
                            {400'000, 400'000, 10'000},
                            {1000, 0, 2000, 32, 1000},
                            {300'000, 0, 400'000, 32, 100'000},
                            {1000, 0, 1000, 4}};
  for (std::size_t shards = 1; shards <= 3; ++shards) {
    for (const FillCase& test : cases) {
      CpuShards index = cpu_shards(shards, {test.capacity, test.signature_bits});
      expect_filled(index, cpu::CpuIndex({}).part_bits(test.most), test);
    }
  }
}

TEST(ShardedIndex, AnotherHasAsManyShards) {
  std::vector<std::unique_ptr<AnyIndex>> shards;
  for (int i = 0; i < 2; ++i) shards.push_back(std::make_unique<CpuShard>(cpu::CpuOptions{}));
  const ShardedIndex index(std::move(shards), 1);
  const auto another = index.another(1000);
  Batch batch = inserts(0, 1000);
  exchange(*another, batch);
  EXPECT_EQ(count(batch, Outcome::inserted), 1000u);
  expect_candidates(*another, keys_to(1000));
  EXPECT_EQ(index.size(), 0u);
}

/// A shard whose batches are under way from `begin` on, as a GPU's. Number `fails` throws at its end.
struct Fleet {
  unsigned under_way = 0, most = 0;
  std::optional<unsigned> fails;
};
class FleetShard final : public AnyIndex {
 public:
  FleetShard(Fleet& fleet, unsigned number) : fleet_(fleet), number_(number) {}
  void search(std::span<const Hash>, std::span<Location>) const override {}
  std::unique_ptr<Searching> searching() const override { return nullptr; }
  void candidates(std::span<const Hash>, std::span<Candidates>) const override {}
  void exchange(std::span<const Hash>, std::span<const Location>, std::span<const Location>,
                std::span<Outcome>) override {}
  void erase(std::span<const Hash>, std::span<const Location>, std::span<Outcome>) override {}
  std::vector<Row> fill(std::span<const FreshRows>) override { return {}; }
  std::uint64_t size() const override { return 0; }
  std::unique_ptr<AnyIndex> another(std::uint64_t) const override { return nullptr; }
  std::unique_ptr<UnderWay> begin(const AnyBatch& batch) override {
    return std::make_unique<Flight>(fleet_, number_, batch);
  }

 private:
  class Flight final : public UnderWay {
   public:
    Flight(Fleet& fleet, unsigned number, const AnyBatch& batch) : fleet_(fleet), number_(number), batch_(batch) {
      fleet_.most = std::max(fleet_.most, ++fleet_.under_way);
    }
    ~Flight() override {
      if (!ended_) std::ranges::fill(batch_.found, 1);  // as a kernel may, until its end
      --fleet_.under_way;
    }
    void finish() override {
      if (fleet_.fails == number_) throw DeviceError("lost");
      std::ranges::fill(batch_.found, 100 + number_);
      ended_ = true;
    }

   private:
    Fleet& fleet_;
    const unsigned number_;
    const AnyBatch batch_;
    bool ended_ = false;
  };
  Fleet& fleet_;
  const unsigned number_;
};

TEST(ShardedIndex, ShardsAreUnderWayTogether) {
  constexpr std::size_t kShards = 3;
  Fleet fleet;
  std::vector<std::unique_ptr<AnyIndex>> shards;
  for (unsigned i = 0; i < kShards; ++i) shards.push_back(std::make_unique<FleetShard>(fleet, i));
  const ShardedIndex index(std::move(shards), 1);
  for (const std::uint64_t rows : {10, 1000, 70'000, 200'000}) {
    fleet.most = 0;
    const Batch batch = inserts(0, rows);
    std::vector<Location> found(rows);
    index.search(batch.hashes, found);
    for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(found[i], 100 + shard_of(batch.hashes[i], kShards));
    EXPECT_EQ(fleet.most, rows > 65'536 ? 2 * kShards : kShards) << "two rounds at a time";
    EXPECT_EQ(fleet.under_way, 0u);
    for (unsigned failing = 0; failing < kShards; ++failing) {
      fleet.fails = failing;
      EXPECT_THROW(index.search(batch.hashes, found), DeviceError);
      EXPECT_EQ(fleet.under_way, 0u) << "a shard uses arrays that are gone";
    }
    fleet.fails.reset();
  }
}

}  // namespace
}  // namespace holdfast::cuckoo
