// group.hpp: a few operations of any kinds: their memory is fetched together, and they are executed one by one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/cpu/batch.hpp"

namespace holdfast::store::cpu {

/// For one thread, which executes rows in their order. A read sees the changes of earlier rows.
class Engine::Group {
 public:
  static constexpr std::size_t kMost = kInFlight;                ///< rows
  static constexpr std::uint64_t kNoCell = BatchParts::kNoCell;  ///< words of a row that writes no item

  explicit Group(Engine& engine) : engine_(engine), parts_(engine) {}

  /// Begins with other rows: `keys[i]`, and `words(i)` of the item that row i writes.
  template <class Keys, class WordsOf>
  void fetch(const Keys& keys, std::size_t size, const WordsOf& words) {
    parts_.fetch(keys, 0, size, words);
  }
  /// `copy` as in `Engine::read`.
  template <class Copy>
  bool read(std::size_t row, const Copy& copy) {
    const Cell found = find(parts_, parts_.key(row), parts_.begun(), parts_.fetched(row), copy);
    if (!found.none()) engine_.cells_.mark(found.location);
    return !found.none();
  }
  Change set(std::size_t row, const Content& content, Condition condition, std::uint64_t cas) {
    return engine_.set(parts_, parts_.key(row), content, condition, cas);
  }

 private:
  Engine& engine_;
  BatchParts parts_;
};

/// Reads whose locations the index gives as one batch, any time before they are executed. For one thread at a time.
class Engine::Lookup {
 public:
  /// Begins with other rows: `keys[i]`.
  template <class Keys>
  void look_up(Engine& engine, const Keys& keys, std::size_t size) {
    take_rows(engine, keys, size);
    engine.index_.search(hashes_, locations_);
    if (engine.index_.is_batched()) share_locations();
  }
  /// The same in two steps, between which the caller does other things. Nothing else is called between them.
  template <class Keys>
  void begin(Engine& engine, const Keys& keys, std::size_t size) {
    searching_.emplace(engine.index_);  // the engine of the batch before may be gone
    take_rows(engine, keys, size);
    searching_->begin(hashes_);
  }
  void finish() {
    searching_->finish(locations_);
    if (engine_->index_.is_batched()) share_locations();
  }
  /// Fetches memory of rows that `read` needs next, when it is at `row`.
  void fetch(std::size_t row) const {
    if (row + kInFlight / 2 >= locations_.size()) return;
    const cuckoo::Location location = locations_[row + kInFlight / 2];
    const Cell cell = location == cuckoo::kNone ? Cell{} : engine_->cells_.at({location});
    if (cell.none()) return;
    __builtin_prefetch(cell.words);
    if (cell.size > 8) __builtin_prefetch(cell.words + 8);
  }
  std::uint64_t hash(std::size_t row) const { return hashes_[row]; }
  /// `copy` as in `Engine::read`. `looks_again`: whether the key is looked up again, or, afterwards, was: the index may have named an older state.
  template <class Copy>
  bool read(std::size_t row, std::span<const std::byte> key, bool& looks_again, const Copy& copy) {
    Parts parts(*engine_);
    const Key its{key.data(), static_cast<std::uint16_t>(key.size()), hashes_[row]};
    Cell found;
    if (!looks_again) {
      if (locations_[row] == cuckoo::kNone) return false;
      Moment begun = parts.moment();
      begun.newest = begun_.newest;
      found = engine_->cells_.at({locations_[row]});
      if (!found.none() && ask(parts, its, found, begun, copy) != Answer::item) found = {};
    }
    if (found.none()) {  // another key has this signature, or the key has changed
      found = find(parts, its, copy);
      looks_again = true;
    }
    if (!found.none()) engine_->cells_.mark(found.location);
    return !found.none();
  }
  /// The same of rows that are read in their order, one batch alone.
  template <class Copy>
  bool read_in_order(std::size_t row, std::span<const std::byte> key, const Copy& copy) {
    const bool looked = std::find(again_.begin(), again_.end(), hashes_[row]) != again_.end();
    bool looks_again = looked;
    const bool found = read(row, key, looks_again, copy);
    if (looks_again && !looked) again_.push_back(hashes_[row]);
    return found;
  }

 private:
  template <class Keys>
  void take_rows(Engine& engine, const Keys& keys, std::size_t size) {
    engine_ = &engine;
    begun_ = engine.counters_.moment();
    again_.clear();
    hashes_.resize(size);
    locations_.resize(size);
    for (std::size_t i = 0; i < size; ++i) hashes_[i] = engine.key_of(keys[i]).hash;
  }
  /// Such an index answers rows in any order: a later row of a key must not get an older location than an earlier one.
  void share_locations() {
    first_.assign(std::bit_ceil(2 * hashes_.size() + 1), kNoRow);
    for (std::uint32_t row = 0; row < hashes_.size(); ++row) {
      std::size_t at = hashes_[row] % first_.size();
      while (first_[at] != kNoRow && hashes_[first_[at]] != hashes_[row]) {  // ends: half of the places are free
        at = (at + 1) % first_.size();
      }
      if (first_[at] == kNoRow) first_[at] = row;
      locations_[row] = locations_[first_[at]];
    }
  }

  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};
  Engine* engine_ = nullptr;
  Moment begun_;
  std::optional<EngineIndex::Searching> searching_;
  std::vector<cuckoo::Hash> again_;   ///< of keys that were looked up again
  std::vector<std::uint32_t> first_;  ///< by hash: the first row that has it
  std::vector<cuckoo::Hash> hashes_;
  std::vector<cuckoo::Location> locations_;
};

}  // namespace holdfast::store::cpu
