// recovery_test.cpp: what a crash or damage may leave in a pool, planted by hand, as the GPU's recovery finds it.
#include <cstddef>
#include <fstream>
#include <functional>
#include <set>

#include "fixture.hpp"
#include "index/address.hpp"
#include "machine/layout.hpp"
#include "memory/pool.hpp"

namespace holdfast::test {
namespace {

using machine::Layout;

/// A closed pool with items, which the CPU wrote, and a way to plant what a crash could have left.
class Planted {
 public:
  explicit Planted(std::uint32_t value_bytes, std::size_t items = 300) : value_bytes_(value_bytes) {
    CreateOptions options;
    options.value_bytes = value_bytes;
    options.capacity = 400;
    options.device = "cpu";
    options.overwrite = true;
    Table table = Table::create(path_.str(), options);
    for (std::size_t i = 0; i < items; ++i) keys_.push_back(i * 0x9e3779b97f4a7c15);  // key 0 among them
    values_.resize(items * value_bytes);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    table.insert(keys_.data(), values_.data(), items);
    table.close();
  }

  /// Opens the pool as nobody's table and lets `change` write to it; then it ends without a clean mark.
  void plant(const std::function<void(memory::Pool&, const Layout&)>& change) {
    const auto pool = memory::Pool::open(path_.str(), memory::Access::read_write, false, false);
    pool->mark_changed();
    change(*pool, machine::layout_of(*pool, {}, pool->superblock().top_level));
  }

  /// Leaves the first copy of the superblock as a kill in the middle of writing it does.
  void tear_superblock() const {
    std::fstream file(path_.str(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offsetof(memory::Superblock, generation));
    file.put('\x7f');
    ASSERT_TRUE(file.good());
  }

  std::unique_ptr<Table> open(const std::string& device) const {
    OpenOptions options;
    options.device = device;
    return std::make_unique<Table>(Table::open(path_.str(), options));
  }

  std::string refusal(const std::string& device) const {
    try {
      open(device);
    } catch (const PoolCorrupt& error) {
      return error.what();
    }
    return "none";
  }

  /// Every item is there, and nothing else.
  void verify(Table& table) const {
    ASSERT_EQ(table.size(), keys_.size());
    std::vector<std::uint8_t> seen(values_.size());
    const auto found = std::make_unique<bool[]>(keys_.size());
    table.find(keys_.data(), seen.data(), keys_.size(), found.get());
    for (std::size_t i = 0; i < keys_.size(); ++i) ASSERT_TRUE(found[i]) << "key " << keys_[i];
    ASSERT_EQ(seen, values_);
    const CheckReport report = table.check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }

  std::uint64_t key(std::size_t i) const { return keys_[i]; }

 private:
  const std::uint32_t value_bytes_;
  PoolPath path_{"-planted"};
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint8_t> values_;
};

/// The slot of a key, and an empty one among its candidates.
struct Places {
  index::Slot* taken = nullptr;
  index::Slot* empty = nullptr;
  unsigned taken_lane = 0, empty_lane = 0;
};

Places places_of(const Layout& layout, std::uint64_t key) {
  const index::Candidates<index::RuntimeShape> candidates(layout, key);
  Places places;
  for (LaneMask left = candidates.distinct(layout); left != 0; left &= left - 1) {
    const unsigned lane = lowest_bit(left);
    index::Slot* const slot = candidates.slot(layout, lane);
    if (slot->key == key) places.taken = slot, places.taken_lane = lane;
    if (slot->key == 0 && slot->word == 0) places.empty = slot, places.empty_lane = lane;
  }
  return places;
}

index::Slot* empty_slot(const Layout& layout, unsigned rank) {
  index::Slot* slot = layout.bucket(rank, 0);
  while (slot->key != 0 || slot->word != 0) ++slot;
  return slot;
}

class GpuRecovery : public testing::TestWithParam<std::uint32_t> {};

TEST_P(GpuRecovery, SmallTornSlotsAreEmptied) {
  HOLDFAST_NEEDS_GPU();
  if (GetParam() <= 8) GTEST_SKIP() << "a value in its slot is never torn: the key decides";
  Planted pool(GetParam());
  pool.plant([](memory::Pool&, const Layout& layout) {
    empty_slot(layout, 0)->key = 12345;
    empty_slot(layout, 0)->word = 7;
    empty_slot(layout, 1)->word = 9;
  });
  const auto table = pool.open("cuda");
  EXPECT_EQ(table->stats().repaired_slots, 3u);
  pool.verify(*table);
}

TEST_P(GpuRecovery, SmallAMendedSuperblockIsNoError) {
  HOLDFAST_NEEDS_GPU();
  Planted pool(GetParam());
  pool.tear_superblock();
  const auto table = pool.open("cuda");
  pool.verify(*table);
  EXPECT_EQ(table->check().repairs.size(), 1u);
}

TEST_P(GpuRecovery, SmallSecondCopiesAreDropped) {
  HOLDFAST_NEEDS_GPU();
  Planted pool(GetParam());
  std::uint64_t planted = 0;
  pool.plant([&](memory::Pool&, const Layout& layout) {
    for (std::size_t i = 1; i < 40; ++i) {
      const Places places = places_of(layout, pool.key(i));
      ASSERT_NE(places.taken, nullptr);
      if (places.empty == nullptr) continue;
      *places.empty = *places.taken;
      ++planted;
    }
  });
  ASSERT_GT(planted, 5u);
  const auto table = pool.open("cuda");
  EXPECT_EQ(table->stats().finished_moves, planted);
  pool.verify(*table);
}

TEST_P(GpuRecovery, SmallAnInterruptedResizeIsFinished) {
  HOLDFAST_NEEDS_GPU();
  Planted pool(GetParam());
  std::uint64_t below = 0;
  pool.plant([&](memory::Pool& opened, const Layout& layout) {
    const unsigned bottom = layout.shape.levels() - 1;
    const std::uint64_t slots = layout.buckets(bottom) * layout.shape.slots();
    for (std::uint64_t i = 0; i < slots; ++i) below += layout.level[bottom][i].key != 0;
    opened.add_level(layout.top_level + 1);
    // One item was copied up already, and not cleared below.
    const Layout next = machine::layout_of(opened, {}, layout.top_level + 1);
    for (std::uint64_t i = 0; i < slots; ++i) {
      const index::Slot& slot = layout.level[bottom][i];
      if (slot.key == 0) continue;
      const Places places = places_of(next, slot.key);
      if (places.empty == nullptr) continue;
      *places.empty = slot;
      break;
    }
  });
  ASSERT_GT(below, 0u);
  const auto table = pool.open("cuda");
  EXPECT_EQ(table->check().rehashed, below);
  pool.verify(*table);
  table->close();
  pool.verify(*pool.open("cpu"));
}

TEST_P(GpuRecovery, SmallDamageIsRefusedInTheWordsOfTheCpu) {
  HOLDFAST_NEEDS_GPU();
  const bool heap = GetParam() > 8;
  std::set<std::string> messages;
  const auto expect_refused = [&](const std::function<void(memory::Pool&, const Layout&)>& change) {
    Planted pool(GetParam());
    pool.plant(change);
    const std::string message = pool.refusal("cpu");
    EXPECT_NE(message, "none");
    EXPECT_EQ(pool.refusal("cuda"), message);
    messages.insert(message);
  };
  expect_refused([](memory::Pool&, const Layout& layout) {
    // A key that hashes elsewhere, beside a cell that is free.
    index::Slot* const slot = empty_slot(layout, 0);
    slot->word = 1;
    for (slot->key = 1;; ++slot->key) {
      const index::Candidates<index::RuntimeShape> candidates(layout, slot->key);
      const std::uint64_t here = static_cast<std::uint64_t>(slot - layout.level[0]) / layout.shape.slots();
      if (candidates.bucket(layout, 0, 0) != here && candidates.bucket(layout, 0, 1) != here) break;
    }
  });
  expect_refused([](memory::Pool&, const Layout& layout) { *layout.aside = {77, 1}; });
  if (heap) {
    expect_refused([](memory::Pool&, const Layout& layout) {
      index::Slot* slot = layout.level[0];
      while (slot->key == 0) ++slot;
      slot->word = layout.cells + 5;
    });
    expect_refused([](memory::Pool&, const Layout& layout) {
      index::Slot* slot = layout.level[0];
      while (slot->key == 0) ++slot;
      index::Slot* other = slot + 1;
      while (other->key == 0) ++other;
      other->word = slot->word;
    });
  }
  EXPECT_EQ(messages.size(), heap ? 4u : 2u);
}

INSTANTIATE_TEST_SUITE_P(Values, GpuRecovery, testing::Values(8u, 24u));

}  // namespace
}  // namespace holdfast::test
