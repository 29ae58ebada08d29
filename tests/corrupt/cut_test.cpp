// cut_test.cpp: a pool of every kind that was cut short is salvaged: what is whole completely, of tables and stores all items that are left, no
// value that is not one, and no byte of the file is written. HOLDFAST_LONG=1 cuts at every page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "cases.hpp"
#include "fixture.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "holdfast/store.hpp"
#include "holdfast/table.hpp"
#include "pool/directory.hpp"
#include "support/exercise.hpp"
#include "support/image.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kFirstItems = 150, kMoreItems = 1000, kStoreItems = 3000, kLarge = 7;
constexpr std::uint64_t kWords = 6000;
constexpr std::uint64_t kSalvageSeed = 3;

/// A pool, and what was put into it.
struct Source {
  std::string bytes;
  std::map<std::string, Items> tables;
  Items store;
  std::map<std::string, std::size_t> keys_at;  ///< of the store, in the image
  std::vector<ObjectInfo> objects;
  std::uint64_t end = 0;  ///< of the last extent
};

struct Columns {
  const char* name;
  std::uint32_t key_bytes, value_bytes;
  Score score;
};
constexpr Columns kTables[] = {{"slots", 8, 8, Score::none},
                               {"cells", 8, 40, Score::none},
                               {"wide", 24, 24, Score::none},
                               {"scored", 8, 4, Score::frequency},
                               {"pairs", kVariableBytes, kVariableBytes, Score::none}};

Table make_table(Pool& pool, const Columns& columns) {
  CreateOptions options;
  options.shape = {.key_bytes = columns.key_bytes, .value_bytes = columns.value_bytes, .score = columns.score};
  options.shape.capacity = 100;
  options.runtime.device = "cpu";
  return pool.create_table(columns.name, options);
}

std::vector<std::uint64_t> words_of(std::uint64_t step) {
  std::vector<std::uint64_t> words(kWords);
  for (std::uint64_t i = 0; i < kWords; ++i) words[i] = step * 1'000'003 + i;
  return words;
}

std::string store_key(unsigned i) { return "item-" + std::to_string(1'000'000 + i) + "-key"; }
std::string store_value(unsigned i) {
  const std::uint64_t bytes = i % 500 == kLarge ? 300'000
                              : i % 2 == 0      ? 60
                                                : 700;  // few classes: each takes pieces of 2 MiB
  return std::to_string(i) + std::string(bytes, static_cast<char>('a' + i % 26));
}

/// Objects grow in turn, so that their extents are mixed. `clean`: closed; otherwise as a kill leaves it.
Source make_source(const std::string& path, bool clean) {
  Source source;
  {
    Pool pool = Pool::create(path, true);
    std::vector<Table> tables;
    for (const Columns& columns : kTables) tables.push_back(make_table(pool, columns));
    for (Table& table : tables) fill(table, kFirstItems, kSalvageSeed);
    Checkpoint checkpoint = Checkpoint::create(pool, "checkpoint");
    const std::vector<std::uint64_t> words = words_of(1);
    const TensorView tensors[] = {{"words", ElementType::u64, {kWords}, words.data()}};
    checkpoint.save(1, tensors, "first").wait();
    Store store = Store::create(pool, "store");
    for (unsigned i = 0; i < kStoreItems; ++i) {
      store.set(store_key(i), store_value(i));
      source.store[store_key(i)] = store_value(i);
    }
    Log log = Log::create(pool, "log", {.entry_bytes = 8, .capacity = 64, .partitions = 100});
    for (std::uint64_t place = 0; place < log.places(); ++place) log.insert(place, place * 3 + 1);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      // What `fill` inserts again is there.
      source.tables[kTables[i].name] =
          fill(tables[i], i + 1 == std::size(kTables) ? kFirstItems : kMoreItems, kSalvageSeed);
    }
    Region region = Region::create(pool, "region", 50'000);
    if (!clean) source.bytes = read_file(path);
  }
  if (clean) source.bytes = read_file(path);
  std::size_t at = 0;
  while ((at = source.bytes.find("item-1", at)) != std::string::npos) {
    source.keys_at.emplace(source.bytes.substr(at, store_key(0).size()), at);
    ++at;
  }
  source.objects = inspect(path).objects;
  for (const ObjectInfo& object : source.objects) {
    for (const ExtentInfo& extent : object.extents) source.end = std::max(source.end, extent.offset + extent.bytes);
  }
  fs::remove(path);
  return source;
}

std::uint64_t kept_of(std::uint64_t cut) { return cut / pool::kPage * pool::kPage; }

/// One way to cut the pool, and all that is asked of what is left.
class Cut {
 public:
  Cut(const Source& source, std::string path, std::uint64_t bytes)
      : source_(source), path_(std::move(path)), bytes_(bytes), left_(source.bytes.substr(0, bytes)) {}

  Outcome run() {
    write_file(path_, left_);
    refuses("open for writing", {});
    refuses("open for writing with salvage", {.salvage = true});
    refuses("open for reading", {.read_only = true});
    try {
      salvage();
      outcome_.opened = true;
    } catch (const PoolCorrupt& error) {
      if (bytes_ >= pool::kFirstExtent) wrong(std::string("is refused: ") + error.what());
    }
    if (read_file(path_) != left_) wrong("the file was written");
    return outcome_;
  }

 private:
  void wrong(const std::string& what) { outcome_.wrong += what + "; "; }

  void refuses(const std::string& what, const PoolOptions& options) {
    try {
      Pool::open(path_, options);
      wrong(what + " is not refused");
    } catch (const PoolCorrupt&) {
    }
  }

  bool loses(const ObjectInfo& object, bool pages_only = false) const {
    return std::any_of(object.extents.begin(), object.extents.end(), [&](const ExtentInfo& extent) {
      return (!pages_only || extent.kind == "pages") && extent.offset + extent.bytes > bytes_;
    });
  }

  void salvage() {
    const std::string to = path_ + "-saved";
    fs::remove(to);
    std::set<std::string> saved, expected_out;
    {
      Pool pool = Pool::open(path_, {.read_only = true, .salvage = true});
      std::vector<Table> tables;
      std::vector<Store> stores;
      for (const ObjectInfo& object : pool.objects()) {
        const ObjectInfo& whole = *std::find_if(source_.objects.begin(), source_.objects.end(),
                                                [&](const ObjectInfo& one) { return one.name == object.name; });
        if (loses(whole) != !object.damage.empty()) wrong(object.name + " has damage \"" + object.damage + "\"");
        if (!object.damage.empty() && object.damage.find("cut short") == std::string::npos) wrong(object.damage);
        const bool opens = object.type == "table" || object.type == "store" ? !loses(whole, true) : !loses(whole);
        (opens ? saved : expected_out).insert(object.name);
        try {
          use(pool, object, tables, stores);
          if (!opens) wrong(object.name + " opens");
        } catch (const PoolCorrupt& error) {
          if (opens) wrong(error.what());
        }
      }
      const SnapshotResult copied = pool.snapshot(to);
      if (std::set<std::string>(copied.left_out.begin(), copied.left_out.end()) != expected_out)
        wrong("leaves out others");
    }
    require_same(to, saved);
    fs::remove(to);
  }

  /// Opens an object; a table and a store stay open, for the copy.
  void use(Pool& pool, const ObjectInfo& object, std::vector<Table>& tables, std::vector<Store>& stores) {
    if (object.type == "table") {
      OpenOptions options;
      options.runtime.device = "cpu";
      require_items(tables.emplace_back(pool.table(object.name, options)), object.name);
    } else if (object.type == "store") {
      require_items(stores.emplace_back(Store::open(pool, object.name)));
    } else if (object.type == "checkpoint") {
      require_words(Checkpoint::open(pool, object.name));
    } else if (object.type == "log") {
      require_entries(Log::open(pool, object.name));
    } else {
      const Region region = Region::open(pool, object.name);
      if (region.size() != 50'000) wrong("the region has another size");
    }
  }

  void require_words(const Checkpoint& checkpoint) {
    const SavedState state = checkpoint.restore();
    const std::vector<std::uint64_t> words = words_of(1);
    if (state.step != 1 || std::memcmp(state.tensors.at(0).data, words.data(), 8 * kWords) != 0)
      wrong("a state differs");
  }

  void require_entries(const Log& log) {
    for (std::uint64_t place = 0; place < log.places(); ++place) {
      std::uint64_t entry = 0;
      if (log.read(place, &entry, sizeof entry) != LogStatus::ok || entry != place * 3 + 1) wrong("an entry differs");
    }
  }

  const ObjectInfo& whole_of(const std::string& name) const {
    return *std::find_if(source_.objects.begin(), source_.objects.end(),
                         [&](const ObjectInfo& one) { return one.name == name; });
  }

  void require_items(Table& table, const std::string& name) {
    Exercised exported;
    const Items items = export_all(table, exported);
    const Items& all = source_.tables.at(name);
    if (!exported.wrong.empty()) wrong(name + ": " + exported.wrong);
    for (const auto& [key, value] : items) {
      const auto found = all.find(key);
      if (found == all.end() || found->second != value) return wrong(name + " gives a value that is none");
    }
    const CheckReport report = table.check();
    if (!report.errors.empty()) wrong(name + ": " + report.errors.front());
    if (name == "slots" || name == "cells" || name == "scored") {
      if (items.size() != count_left(whole_of(name))) wrong(name + " has " + std::to_string(items.size()) + " items");
    } else if (!loses(whole_of(name)) && items != all) {
      wrong(name + " is whole, and has other items");
    }
  }

  /// Items of a table with keys of 8 bytes whose slots and cells are left.
  std::uint64_t count_left(const ObjectInfo& table) const {
    const std::uint64_t cell_bytes = table.table.cell_bytes;
    std::vector<std::uint64_t> heap;  // where its pages are in the file
    for (const ExtentInfo& extent : table.extents) {
      if (extent.kind != "heap") continue;
      for (std::uint64_t at = 0; at < extent.bytes; at += pool::kPage) heap.push_back(extent.offset + at);
    }
    const auto is_left = [&](std::uint64_t word) {
      if (cell_bytes == 0) return true;
      const std::uint64_t begin = (word - 1) * cell_bytes, end = begin + cell_bytes - 1;
      return heap.at(begin / pool::kPage) + pool::kPage <= bytes_ && heap.at(end / pool::kPage) + pool::kPage <= bytes_;
    };
    std::uint64_t count = 1;  // the key 0 is in the pages
    std::uint64_t reserved_word = 0;
    for (const ExtentInfo& extent : table.extents) {
      if (extent.kind == "pages") std::memcpy(&reserved_word, &source_.bytes[extent.offset + 2 * pool::kPage + 8], 8);
      if (extent.kind.rfind("level", 0) != 0) continue;
      for (std::uint64_t at = extent.offset; at < std::min(extent.offset + extent.bytes, kept_of(bytes_)); at += 16) {
        std::uint64_t slot[2];
        std::memcpy(slot, &source_.bytes[at], sizeof slot);
        count += slot[0] != 0 && is_left(slot[1]) ? 1 : 0;
      }
    }
    return is_left(reserved_word) ? count : count - 1;
  }

  void require_items(Store& store) {
    const ObjectInfo& whole = whole_of("store");
    std::size_t found = 0;
    for (const auto& [key, value] : source_.store) {
      const auto item = store.get(key);
      if (item && item->value != value) return wrong("the store gives a value that is none");
      found += item ? 1 : 0;
      if (!item && is_left(whole, key)) return wrong("the store lacks " + key);
    }
    if (store.size() != found) wrong("the store has other keys");
  }

  /// Whether a small item, whose key is in the image once, is left for sure.
  bool is_left(const ObjectInfo& store, const std::string& key) const {
    if (!loses(store)) return true;
    const auto heap = std::find_if(store.extents.begin(), store.extents.end(),
                                   [](const ExtentInfo& extent) { return extent.kind == "heap"; });
    if (heap->offset + pool::kPage > bytes_ || source_.store.at(key).size() > pool::kPage) return false;
    return source_.keys_at.at(key) + 2 * pool::kPage <= kept_of(bytes_);
  }

  /// The new pool opens for writing, verifies once damaged items are dropped, and has what was salvaged.
  void require_same(const std::string& path, const std::set<std::string>& saved) {
    Pool pool = Pool::open(path);
    std::set<std::string> there;
    std::vector<Table> tables;
    std::vector<Store> stores;
    for (const ObjectInfo& object : pool.objects()) {
      there.insert(object.name);
      use(pool, object, tables, stores);
      if (object.type == "store") stores.back().drop_damaged();
    }
    if (there != saved) wrong("the copy has other objects");
    const CheckReport report = pool.check();
    if (!report.errors.empty()) wrong("the copy is damaged: " + report.errors.front());
  }

  const Source& source_;
  const std::string path_;
  const std::uint64_t bytes_;
  const std::string left_;
  Outcome outcome_;
};

std::vector<std::uint64_t> cuts_of(const Source& source) {
  std::set<std::uint64_t> cuts{pool::kFirstExtent - 1, pool::kFirstExtent};
  for (const ObjectInfo& object : source.objects) {
    for (const ExtentInfo& extent : object.extents) {
      const std::uint64_t end = extent.offset + extent.bytes;
      cuts.insert(
          {extent.offset, extent.offset + 1, extent.offset + extent.bytes / 2 / 8 * 8 + 8, end - pool::kPage, end - 1});
    }
  }
  const std::uint64_t pages = source.end / pool::kPage, step = is_long() ? 1 : pages / 20;
  for (std::uint64_t page = pool::kFirstExtent / pool::kPage; page < pages; page += step)
    cuts.insert(page * pool::kPage + page % 9 * 8);
  std::vector<std::uint64_t> sorted;
  std::copy_if(cuts.begin(), cuts.end(), std::back_inserter(sorted), [&](auto at) { return at < source.end; });
#if defined(HOLDFAST_SANITIZED)
  for (std::size_t i = 1; i < sorted.size(); ++i)
    sorted.erase(sorted.begin() + static_cast<std::ptrdiff_t>(i),
                 sorted.begin() + static_cast<std::ptrdiff_t>(std::min(i + 4, sorted.size())));
#endif
  return sorted;
}

TEST(Cut, WhatIsLeftIsSalvaged) {
  for (const bool clean : {true, false}) {
    const Source source = make_source(pool_path(), clean);
    const std::vector<std::uint64_t> cuts = cuts_of(source);
    const std::string path = pool_path() + "-case";
    const Tally tally = expect_sound(
        "cuts", cuts.size(), [&](std::uint64_t i) { return Cut(source, path, cuts[i]).run(); },
        [&](std::uint64_t i) {
          return std::string(clean ? "closed" : "killed") + ", cut at " + std::to_string(cuts[i]);
        });
    EXPECT_EQ(tally.opened + 1, tally.cases) << "what has less than the directory alone is refused";
    fs::remove(path + "-saved");
  }
}

}  // namespace
}  // namespace holdfast::test::corrupt
