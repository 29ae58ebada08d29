// oracle.cpp: replays journals against a model of the directory, and compares what was found in the pool.
#include "kill/pool/oracle.hpp"

#include <algorithm>
#include <numeric>

#include "proof/kill/shared.hpp"

namespace holdfast::proof::kill {
namespace {

/// Where nothing but its header and these extents is in a file, it ends so.
std::uint64_t end_of(const PoolInfo& info) {
  std::uint64_t end = 0;
  for (const ObjectInfo& object : info.objects) {
    for (const ExtentInfo& extent : object.extents) end = std::max(end, extent.offset + extent.bytes);
  }
  return end;
}

std::uint64_t bytes_of(const PoolInfo& info) {
  return std::accumulate(info.objects.begin(), info.objects.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ObjectInfo& object) { return sum + object.bytes; });
}

/// What a pool of these objects has that belongs to none: its header.
std::uint64_t header_of(const PoolInfo& info) { return end_of(info) - bytes_of(info) - info.free_bytes; }

std::uint64_t digest_of(const std::string& value) { return digest(value.data(), value.size()); }

}  // namespace

PoolCall PoolOracle::pending() const { return pending_.empty() ? PoolCall::none : pending_.front().call; }

bool PoolOracle::must_be_refused(const PoolEntry& entry) const {
  const bool exists = tables_.contains(object_name(entry.name));
  if (entry.call == PoolCall::create) return exists;
  if (entry.call == PoolCall::replace) return false;
  if (entry.call != PoolCall::rename || !exists) return !exists;
  return entry.to != entry.name && tables_.contains(object_name(entry.to));
}

void PoolOracle::make(std::uint32_t name, std::uint64_t seed, std::uint32_t number) {
  expect(number > newest_,
         object_name(name) + " got the number " + std::to_string(number) + ", which was given before");
  tables_[object_name(name)] = Known{number, shape_of(seed), 0, {}};
}

void PoolOracle::change(Known& table, std::uint64_t seed) {
  for (const ItemChange& item : changes_of(seed)) {
    if (item.erases) {
      table.items.erase(item.index);
    } else {
      table.items[item.index] = item_value(item.version, value_width(table.shape.value_bytes));
    }
  }
}

void PoolOracle::replay_call(const PoolEntry& entry) {
  counts_.add_acknowledged(entry.call);
  const bool refused = must_be_refused(entry);
  const std::string name = object_name(entry.name);
  expect(refused == (entry.refused != 0), std::string("an acknowledged ") +
                                              kPoolCallNames[static_cast<unsigned>(entry.call)] + " of " + name +
                                              (refused ? " was not" : " was") + " refused");
  counts_.refused += refused ? 1 : 0;
  if (refused || entry.refused != 0) return;
  counts_.names += changes_names(entry.call) ? 1 : 0;
  apply(entry);
}

void PoolOracle::apply(const PoolEntry& entry) {
  const std::string name = object_name(entry.name);
  switch (entry.call) {
    case PoolCall::create:
    case PoolCall::replace: return make(entry.name, entry.seed, static_cast<std::uint32_t>(entry.said));
    case PoolCall::rename: {
      auto moved = tables_.extract(name);  // under the same name, perhaps
      moved.key() = object_name(entry.to);
      tables_.insert(std::move(moved));
      return;
    }
    case PoolCall::drop: tables_.erase(name); return;
    case PoolCall::grow: tables_.at(name).slots = entry.said; return;
    case PoolCall::change: return change(tables_.at(name), entry.seed);
    default: return;
  }
}

std::vector<std::string> PoolOracle::replay(const PoolShared& shared) {
  pending_.clear();
  for (unsigned thread = 0; thread < round_.threads; ++thread) {
    const PoolJournal& journal = shared.journal[thread];
    const std::uint32_t begun = journal.begun.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < begun; ++i) {
      const PoolEntry& entry = journal.entries[i];
      if (entry.acknowledged != 0) {
        replay_call(entry);
      } else if (!must_be_refused(entry)) {
        pending_.push_back(entry);
      }
    }
  }
  peak_ = std::max(peak_, shared.peak.load());
  return take();
}

bool PoolOracle::happened(const PoolEntry& entry, const Found& found) const {
  const std::string name = object_name(entry.name);
  const auto known = tables_.find(name);
  const auto at = found.find(name);
  switch (entry.call) {
    case PoolCall::create: return at != found.end();
    case PoolCall::replace:
      return at != found.end() && (known == tables_.end() || at->second->number != known->second.number);
    case PoolCall::rename: return found.contains(object_name(entry.to));
    case PoolCall::drop: return at == found.end();
    case PoolCall::grow: return at != found.end() && at->second->slots > known->second.slots;
    default: return false;
  }
}

/// Each item of an unacknowledged change is as before or as after.
void PoolOracle::settle_items(const PoolEntry& entry, const FoundTable& found) {
  Known& known = tables_.at(object_name(entry.name));
  Known after = known;
  change(after, entry.seed);
  std::uint64_t kept = 0, lost = 0;
  for (const ItemChange& item : changes_of(entry.seed)) {
    const auto old = known.items.find(item.index), next = after.items.find(item.index);
    const std::uint64_t was = old == known.items.end() ? 0 : digest_of(old->second);
    const std::uint64_t is = next == after.items.end() ? 0 : digest_of(next->second);
    if (was == is) continue;
    const bool done = found.values[item.index] == is;
    ++(done ? kept : lost);
    if (!done) continue;
    if (is == 0) {
      known.items.erase(item.index);
    } else {
      known.items[item.index] = next->second;
    }
  }
  if (kept != 0 && lost != 0) {
    ++counts_.torn;
  } else if (kept + lost != 0) {
    counts_.add_pending(entry.call, kept != 0);
  }
}

void PoolOracle::settle(const PoolEntry& entry, const Found& found) {
  const std::string name = object_name(entry.name);
  if (entry.call == PoolCall::change) {
    if (const auto at = found.find(name); at != found.end()) settle_items(entry, *at->second);
    return;
  }
  if (entry.call == PoolCall::sync || (entry.call == PoolCall::rename && entry.to == entry.name)) return;
  const bool done = happened(entry, found);
  const bool is_clear =
      entry.call != PoolCall::grow || tables_.at(name).slots != 0;  // how large it was before is known
  if (is_clear) counts_.add_pending(entry.call, done);
  if (!done) return;
  PoolEntry as_if = entry;  // acknowledged, with what was found
  if (const auto at = found.find(name); at != found.end()) {
    as_if.said = entry.call == PoolCall::grow ? at->second->slots : at->second->number;
  }
  apply(as_if);
}

PoolOracle::Found PoolOracle::index(const PoolFound& found) {
  Found tables;
  for (std::uint32_t i = 0; i < std::min(found.objects, kMostFound); ++i) {
    const FoundTable& table = found.tables[i];
    expect(tables.emplace(table.name, &table).second, std::string(table.name) + " is there twice");
    expect(table.damage[0] == 0, std::string(table.name) + " is damaged: " + table.damage);
  }
  expect(found.objects <= kMostFound, "there are " + std::to_string(found.objects) + " objects, and no more than " +
                                          std::to_string(kMostNames) + " names");
  return tables;
}

void PoolOracle::compare(const std::string& name, const Known& known, const FoundTable& found) {
  const TableSizes& shape = known.shape;
  expect(found.number == known.number,
         name + " is another object: number " + std::to_string(found.number) + ", not " + std::to_string(known.number));
  expect(found.key_bytes == shape.key_bytes && found.value_bytes == shape.value_bytes, name + " has another shape");
  expect(found.slots >= known.slots,
         name + " has " + std::to_string(found.slots) + " slots, and had " + std::to_string(known.slots));
  for (std::uint32_t i = 0; i < kItems; ++i) {
    const auto at = known.items.find(i);
    const std::uint64_t wanted = at == known.items.end() ? 0 : digest_of(at->second);
    expect(found.values[i] == wanted, name + ", item " + std::to_string(i) +
                                          (wanted == 0            ? " is there, and should not be"
                                           : found.values[i] == 0 ? " is lost"
                                                                  : " has a value that no call gave it"));
    expect(found.exported_values[i] == found.values[i],
           name + ", item " + std::to_string(i) + ": export and find disagree");
  }
  const std::uint64_t items = known.items.size();
  expect(found.size == items && found.exported == items && found.foreign == 0,
         name + " should have " + std::to_string(items) + " items: its size is " + std::to_string(found.size) +
             ", export gave " + std::to_string(found.exported) + ", " + std::to_string(found.foreign) +
             " of them unknown");
  ++counts_.tables;
  counts_.items += kItems;
}

/// A table that is replaced, or grows, has its room twice meanwhile; and small gaps are of no use to large extents.
void PoolOracle::compare_file(const PoolShared& shared, const PoolInfo& info) {
  expect(info.valid_copies == 2, "a copy of the superblock was left damaged");
  peak_ = std::max({peak_, shared.peak.load(), bytes_of(info)});
  if (info.objects.empty()) return;
  expect(info.file_bytes == end_of(info), "the file has " + std::to_string(info.file_bytes) +
                                              " bytes, and its last extent ends at " + std::to_string(end_of(info)));
  const std::uint64_t percent = (end_of(info) - header_of(info)) * 100 / peak_;
  counts_.most_percent = std::max(counts_.most_percent, percent);
  constexpr std::uint64_t kMostPercent = 300;
  if (percent <= kMostPercent) return;
  std::string extents;
  for (const ObjectInfo& object : info.objects) {
    for (const ExtentInfo& extent : object.extents) {
      extents += "; " + object.name + ", " + extent.kind + ": " + std::to_string(extent.bytes) + " at " +
                 std::to_string(extent.offset);
    }
  }
  expect(false, "the file has room for " + std::to_string(percent) + " percent of the " + std::to_string(peak_) +
                    " bytes that its objects had at most" + extents);
}

std::vector<std::string> PoolOracle::verify(const PoolShared& shared, const char* check_errors, const PoolInfo& info) {
  const Found found = index(shared.found);
  for (const PoolEntry& entry : pending_) settle(entry, found);
  std::uint64_t items = 0;
  for (auto& [name, known] : tables_) {
    const auto at = found.find(name);
    expect(at != found.end(), name + " is lost");
    if (at != found.end()) compare(name, known, *at->second);
    if (at != found.end()) known.slots = at->second->slots;
    newest_ = std::max(newest_, known.number);
    items += known.items.size();
  }
  for (const auto& [name, table] : found) {
    expect(tables_.contains(name), name + " is there, and should not be: object " + std::to_string(table->number));
  }
  expect(info.objects.size() == tables_.size(), "the closed pool has " + std::to_string(info.objects.size()) +
                                                    " objects, not " + std::to_string(tables_.size()));
  expect(shared.found.check_items == items,
         "check counted " + std::to_string(shared.found.check_items) + " items, not " + std::to_string(items));
  expect(check_errors[0] == 0, std::string("check says: ") + check_errors);
  expect(shared.found.again_differs == 0, "another look a while later saw something else");
  compare_file(shared, info);
  ++counts_.directories;
  counts_.most_objects = std::max<std::uint64_t>(counts_.most_objects, tables_.size());
  pending_.clear();
  return take();
}

}  // namespace holdfast::proof::kill
