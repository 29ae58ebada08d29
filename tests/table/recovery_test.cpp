// recovery_test.cpp: what a crash or damage may leave in a pool, planted by hand, as each machine's recovery finds it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "structures/gphash/layout.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/table_object.hpp"
#include "support/numbers.hpp"

namespace holdfast::test {
namespace {

using gphash::Layout;

constexpr std::uint64_t kSeed = 77;  // of every table's hash

struct Items {
  std::uint32_t value_bytes, key_bytes;
  std::string device;  ///< which recovers
};

/// A closed pool with items, which the CPU wrote, and a way to plant what a crash could have left.
class Planted {
 public:
  explicit Planted(const Items& of, std::size_t items = 300) : key_bytes_(of.key_bytes), device_(of.device) {
    const std::uint32_t value_bytes = of.value_bytes;
    CreateOptions options;
    options.shape.key_bytes = of.key_bytes;
    options.shape.value_bytes = value_bytes;
    options.shape.seed = kSeed;
    options.shape.capacity = 400;
    options.runtime.device = "cpu";
    options.overwrite = true;
    NumberedTable table(Table::create(path_, options), kSeed);
    for (std::size_t i = 0; i < items; ++i) keys_.push_back(i * 0x9e3779b97f4a7c15);  // key 0 among them
    values_.resize(items * value_bytes);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    table.insert(keys_.data(), values_.data(), items);
    table.close();
  }

  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
  ~Planted() { unlink(path_.c_str()); }

  /// Opens the pool as nobody's table and lets `change` write to it; then it ends without a clean mark.
  void plant(const std::function<void(gphash::TableObject&, const Layout&)>& change) {
    auto pool = pool::PoolFile::open(path_, pool::Access::read_write);
    const auto directory = pool->directory();
    const auto table = gphash::TableObject::open(std::move(pool), directory->objects.at(0), {.label = path_});
    table->mark_changed();
    change(*table, gphash::layout_of(*table, {}, table->shape().top_level));
  }

  /// Leaves the first copy of the superblock as a kill in the middle of writing it does.
  void tear_superblock() const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offsetof(pool::Superblock, generation));
    file.put('\x7f');
    ASSERT_TRUE(file.good());
  }

  std::unique_ptr<NumberedTable> open() const { return open(device_); }
  std::unique_ptr<NumberedTable> open(const std::string& device) const {
    OpenOptions options;
    options.runtime.device = device;
    return std::make_unique<NumberedTable>(Table::open(path_, options), kSeed);
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
  void verify(NumberedTable& table) const {
    ASSERT_EQ(table.size(), keys_.size());
    std::vector<std::uint8_t> seen(values_.size());
    const auto found = std::make_unique<bool[]>(keys_.size());
    table.find(keys_.data(), seen.data(), keys_.size(), found.get());
    for (std::size_t i = 0; i < keys_.size(); ++i) ASSERT_TRUE(found[i]) << "key " << keys_[i];
    ASSERT_EQ(seen, values_);
    const CheckReport report = table.check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }

  /// A key as it lies in an array.
  std::vector<std::byte> key(std::size_t i) const { return keys_of(&keys_[i], 1, key_bytes_, kSeed); }

 private:
  const std::uint32_t key_bytes_;
  const std::string device_;
  const std::string path_ = "/dev/shm/holdfast-recovery-" + std::to_string(getpid());
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint8_t> values_;
};

/// The policy of one who is alone.
struct Quiet : pool::QuietMemory {
  static std::uint64_t load_still(const std::uint64_t* word) { return *word; }
  static std::uint64_t given_word(const std::byte* at) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    return word;
  }
};
static_assert(gphash::KeySource<Quiet>);

bool is_empty(const Layout& layout, const gphash::Slot& slot) {
  return slot.key == 0 && (slot.word == 0 || layout.key_decides());
}

/// The slot of a key, and an empty one among its candidates, of hash location `of` if one is asked for.
struct Places {
  gphash::Slot* taken = nullptr;
  gphash::Slot* empty = nullptr;
};

Places places_of(const Layout& layout, const gphash::Key& key, std::optional<unsigned> of = {}) {
  const gphash::Candidates<gphash::RuntimeShape> candidates(layout, key);
  Places places;
  for (LaneMask left = candidates.distinct(layout); left != 0; left &= left - 1) {
    const unsigned lane = lowest_bit(left);
    gphash::Slot* const slot = candidates.slot(layout, lane);
    bool same = slot->key == candidates.stored_key();
    for (unsigned i = 0; same && layout.wide() && i < layout.key_words(); ++i)
      same = gphash::wide_key(slot)[i] == candidates.key_word(Quiet{}, i);
    if (same) places.taken = slot;
    const bool wanted = !of || candidates.place(layout, lane).j == *of;
    if (wanted && is_empty(layout, *slot)) places.empty = slot;
  }
  return places;
}

void copy_slot(const Layout& layout, gphash::Slot* to, const gphash::Slot* from) {
  std::memcpy(static_cast<void*>(to), from, layout.slot_bytes());
}

gphash::Slot* empty_slot(const Layout& layout, unsigned rank) {
  gphash::Slot* slot = layout.bucket(rank, 0);
  while (!is_empty(layout, *slot)) slot = layout.after(slot, 1);
  return slot;
}

gphash::Slot* taken_slot(const Layout& layout, gphash::Slot* from) {
  while (from->key == 0) from = layout.after(from, 1);
  return from;
}

class Recovery : public testing::TestWithParam<Items> {
 protected:
  void SetUp() override {
    if (std::string why; GetParam().device == "cuda" && cuda_devices(&why) == 0) GTEST_SKIP() << why;
  }
};

TEST_P(Recovery, SmallTornSlotsAreEmptied) {
  if (GetParam().value_bytes <= 8 || GetParam().key_bytes > 8)
    GTEST_SKIP() << "no slot is torn: its first word decides";
  Planted pool(GetParam());
  pool.plant([](gphash::TableObject&, const Layout& layout) {
    empty_slot(layout, 0)->key = 12345;
    empty_slot(layout, 0)->word = 7;
    empty_slot(layout, 1)->word = 9;
  });
  const auto table = pool.open();
  EXPECT_EQ(table->stats().recovery.repaired_slots, 3u);
  pool.verify(*table);
}

TEST_P(Recovery, SmallAMendedSuperblockIsNoError) {
  Planted pool(GetParam());
  pool.tear_superblock();
  const auto table = pool.open();
  pool.verify(*table);
  EXPECT_EQ(table->check().repairs.size(), 1u);
}

TEST_P(Recovery, SmallSecondCopiesAreDropped) {
  Planted pool(GetParam());
  std::uint64_t planted = 0;
  pool.plant([&](gphash::TableObject&, const Layout& layout) {
    for (std::size_t i = 1; i < 40; ++i) {
      const Places places = places_of(layout, gphash::given_key<Quiet>(layout, pool.key(i).data()), i % 2);
      ASSERT_NE(places.taken, nullptr);
      if (places.empty == nullptr) continue;
      copy_slot(layout, places.empty, places.taken);
      ++planted;
    }
  });
  ASSERT_GT(planted, 5u);
  const auto table = pool.open();
  EXPECT_EQ(table->stats().recovery.finished_moves, planted);
  pool.verify(*table);
}

TEST_P(Recovery, SmallAnInterruptedResizeIsFinished) {
  Planted pool(GetParam());
  std::uint64_t below = 0;
  pool.plant([&](gphash::TableObject& opened, const Layout& layout) {
    const unsigned bottom = layout.shape.levels() - 1;
    const std::uint64_t slots = layout.buckets(bottom) * layout.shape.slots();
    for (std::uint64_t i = 0; i < slots; ++i) below += layout.after(layout.level[bottom], i)->key != 0;
    opened.add_level(layout.top_level + 1);
    // One item was copied up already, and not cleared below.
    const Layout next = gphash::layout_of(opened, {}, layout.top_level + 1);
    for (std::uint64_t i = 0; i < slots; ++i) {
      const gphash::Slot* const slot = layout.after(layout.level[bottom], i);
      if (slot->key == 0) continue;
      const Places places = places_of(next, gphash::slot_key(layout, slot, slot->key, slot->word));
      if (places.empty == nullptr) continue;
      copy_slot(layout, places.empty, slot);
      break;
    }
  });
  ASSERT_GT(below, 0u);
  const auto table = pool.open();
  EXPECT_EQ(table->check().rehashed, below);
  pool.verify(*table);
  table->close();
  pool.verify(*pool.open("cpu"));
}

TEST_P(Recovery, SmallDamageIsRefusedInTheSameWords) {
  const bool heap = GetParam().value_bytes > 8, wide = GetParam().key_bytes > 8;
  std::set<std::string> messages;
  const auto expect_refused = [&](const std::function<void(gphash::TableObject&, const Layout&)>& change) {
    Planted pool(GetParam());
    pool.plant(change);
    const std::string message = pool.refusal("cpu");
    EXPECT_NE(message, "none");
    EXPECT_EQ(pool.refusal(GetParam().device), message);
    messages.insert(message);
  };
  if (wide) {
    // A key behind a fingerprint that is not its own; and one in another's bucket.
    expect_refused(
        [](gphash::TableObject&, const Layout& layout) { ++*gphash::wide_key(taken_slot(layout, layout.level[0])); });
    expect_refused([](gphash::TableObject&, const Layout& layout) {
      const gphash::Slot* const slot = taken_slot(layout, layout.level[0]);
      const gphash::Candidates<gphash::RuntimeShape> candidates(layout,
                                                                gphash::slot_key(layout, slot, slot->key, slot->word));
      for (std::uint64_t i = 0; i < layout.buckets(0) * layout.shape.slots(); ++i) {
        gphash::Slot* const other = layout.after(layout.level[0], i);
        const std::uint64_t bucket = i / layout.shape.slots();
        const bool own = candidates.bucket(layout, 0, 0) == bucket || candidates.bucket(layout, 0, 1) == bucket;
        if (!own && is_empty(layout, *other)) return copy_slot(layout, other, slot);
      }
      FAIL() << "no other bucket has an empty slot";
    });
  } else {
    expect_refused([](gphash::TableObject&, const Layout& layout) {
      // A key that hashes elsewhere, beside a cell that is free.
      gphash::Slot* const slot = empty_slot(layout, 0);
      slot->word = 1;
      for (slot->key = 1;; ++slot->key) {
        const gphash::Candidates<gphash::RuntimeShape> candidates(layout, slot->key);
        const std::uint64_t here = static_cast<std::uint64_t>(slot - layout.level[0]) / layout.shape.slots();
        if (candidates.bucket(layout, 0, 0) != here && candidates.bucket(layout, 0, 1) != here) break;
      }
    });
    expect_refused([](gphash::TableObject&, const Layout& layout) { *layout.reserved_slot = {77, 1}; });
  }
  if (heap) {
    expect_refused([](gphash::TableObject&, const Layout& layout) {
      taken_slot(layout, layout.level[0])->word = layout.cells + 5;
    });
    expect_refused([](gphash::TableObject&, const Layout& layout) {
      const gphash::Slot* const slot = taken_slot(layout, layout.level[0]);
      taken_slot(layout, layout.after(const_cast<gphash::Slot*>(slot), 1))->word = slot->word;
    });
  }
  EXPECT_EQ(messages.size(), heap ? 4u : 2u);
}

std::vector<Items> everywhere() {
  std::vector<Items> all;
  for (const char* const device : {"cpu", "cuda"}) {
    for (const Items& of : {Items{8, 8, device}, Items{24, 8, device}, Items{8, 16, device}, Items{24, 128, device}})
      all.push_back(of);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Values, Recovery, testing::ValuesIn(everywhere()), [](const auto& info) {
  const Items& of = info.param;
  return of.device + "_" + std::to_string(of.key_bytes) + "_to_" + std::to_string(of.value_bytes);
});

}  // namespace
}  // namespace holdfast::test
