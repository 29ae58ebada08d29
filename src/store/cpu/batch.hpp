// batch.hpp: what batches of a store's operations use: 32 rows at a time, so that their misses overlap (Mega-KV §5.1 on a CPU; DRAMHiT §3).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

/// Asks for the lines of an item's words, to be read or written (1). The processor follows a stream by itself, but that begins too late for items of some
/// hundred bytes; from kMost on it does.
template <int kWrites>
void fetch_words(const std::uint64_t* from, std::uint64_t words) {
  constexpr std::uint64_t kMost = 256;
  for (std::uint64_t at = 0; at < std::min(words, kMost); at += 8) __builtin_prefetch(from + at, kWrites);
  asm volatile("" : : "r"(from));  // GCC 12 removes calls of a function that only prefetches
}

/// What an index that has batches only has named for rows, and when that search began, by the index's count and the engine's.
struct LookedUp {
  std::span<const cuckoo::Location> found;
  std::uint64_t since = 0;
  Moment begun;
};

/// Takes and gives cells many at once.
class Engine::BatchParts : public Engine::Parts {
 public:
  explicit BatchParts(Engine& engine) : Parts(engine), engine_(engine) {}
  ~BatchParts() {
    if (given_ + stocked_ != 0)
      engine_.stocks_.give(std::span(given_cells_).first(given_), std::span(stock_).first(stocked_));
  }
  BatchParts(const BatchParts&) = delete;
  BatchParts& operator=(const BatchParts&) = delete;

  static constexpr std::uint64_t kNoCell = kPieceBytes;  ///< words of an item that takes none
  static constexpr std::uint64_t kReads = 2 * kNoCell;   ///< the same, where the row reads the item that there is

  /// Before any row is fetched.
  void use(const LookedUp& rows) {
    looked_up_ = true;
    first_ = 0;
    rows_ = rows;
  }
  /// Before rows [first, first + size) are fetched: an index that has batches only is searched for all of them at once.
  template <class Keys>
  void look_up(const Keys& keys, std::size_t first, std::size_t size) {
    looked_up_ = engine_.index_.is_batched();
    if (!looked_up_) return;
    first_ = first;
    const Moment begun = moment();
    const std::uint64_t since = engine_.index_.moment();
    all_hashes_.resize(size);
    found_.resize(size);
    for (std::size_t i = 0; i < size; ++i) all_hashes_[i] = engine_.key_at(keys, first + i).hash;
    engine_.index_.search(all_hashes_, found_);
    rows_ = {found_, since, begun};
  }
  /// Hashes of rows [first, first + size), and their memory on its way: what the index names, and cells for items of `words(row)` words.
  template <class Keys, class WordsOf>
  void fetch(const Keys& keys, std::size_t first, std::size_t size, const WordsOf& words) {
    begun_ = moment();
    for (std::size_t i = 0; i < size; ++i) {
      keys_[i] = engine_.key_at(keys, first + i);
      hashes_[i] = keys_[i].hash;
    }
    if (!looked_up_) engine_.index_.candidates(std::span(hashes_).first(size), std::span(lists_).first(size));
    for (std::size_t i = 0; looked_up_ && i < size; ++i) {
      const cuckoo::Location found = rows_.found[first - first_ + i];
      lists_[i].size = found == cuckoo::kNone ? 0 : 1;
      lists_[i].locations[0] = found;
      engine_.index_.fetch(hashes_[i]);
    }
    std::array<std::uint8_t, kInFlight> classes;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t new_words = words(first + i);
      const std::uint64_t key_end = Header{0, 0, keys_[i].bytes, true, 0}.value_at();
      for (unsigned c = 0; c < lists_[i].size; ++c) {
        const Cell cell = engine_.cells_.at({lists_[i].locations[c]});
        if (!cell.none()) fetch_words<0>(cell.words, new_words == kReads ? cell.size : std::min(cell.size, key_end));
      }
      classes[i] = static_cast<std::uint8_t>(class_of(8 * new_words));
      if (classes[i] < kClasses) ++wanted_[classes[i]];
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (classes[i] == kClasses || wanted_[classes[i]] == 0) continue;
      stock(classes[i], std::exchange(wanted_[classes[i]], 0));
    }
  }
  /// Row i is executed next.
  const Key& begin_row(std::size_t i) {
    row_ = i;
    return keys_[i];
  }
  /// Under the claim of the row's key, what was found for it before.
  Guess guess(const Key& key) const {
    if (key.hash != hashes_[row_]) return Parts::guess(key);
    const cuckoo::DeferredIndex::Revised now = engine_.index_.revise(key.hash, found(), rows_.since);
    if (now.location == cuckoo::kNone) return {{}, looked_up_ && now.is_certain};
    return {engine_.cells_.at({now.location}), false};
  }
  /// Looks the row up; `copy` as in `find`.
  template <class Copy>
  Cell find_row(const Copy& copy) {
    const Key& key = keys_[row_];
    if (!looked_up_) return find(*this, key, begun(), fetched(), copy);
    const cuckoo::DeferredIndex::Revised now = engine_.index_.revise(key.hash, found(), rows_.since);
    if (now.location == cuckoo::kNone && now.is_certain) return {};
    const Cell cell = now.location == cuckoo::kNone ? Cell{} : engine_.cells_.at({now.location});
    Moment begun = time();
    begun.newest = rows_.begun.newest;
    if (!cell.none() && ask(*this, key, cell, begun, copy) == Answer::item) return cell;
    return find(*this, key, copy);
  }
  /// What the index, which was not looked up for all keys, named for the row at a moment later than `begun`, unless a cell of it lies nowhere any more: then
  /// what it names now. So for a key that an earlier row has, which may have met a later state than the fetch did, or changed it.
  Candidates fetched() {
    const std::size_t i = row_;
    bool repeats = false;
    for (std::size_t earlier = 0; earlier < i; ++earlier) repeats |= hashes_[earlier] == hashes_[i];
    if (repeats) return candidates(keys_[i]);
    Candidates found;
    for (unsigned c = 0; c < lists_[i].size; ++c) {
      found.cells[found.size] = engine_.cells_.at({lists_[i].locations[c]});
      if (found.cells[found.size++].none()) return candidates(keys_[i]);
    }
    return found;
  }
  /// When the search of the row begins. Its time and its flushes are those of now: rows of one key must not go back to an earlier state.
  Moment begun() {
    Moment now = time();
    now.newest = begun_.newest;
    return now;
  }

  Cell take(std::uint64_t words) {
    const unsigned size_class = class_of(8 * words);
    if (size_class == kClasses) return {};
    for (std::size_t i = stocked_; i-- > 0;) {
      if (stock_[i].size != class_bytes(size_class) / 8) continue;
      const Cell cell = stock_[i];
      stock_[i] = stock_[--stocked_];
      return cell;
    }
    const Cell cell = engine_.stocks_.take(engine_.memory_, words);
    if (!cell.none()) return cell;
    give_back();  // they may be what is missing, and a piece with such a cell cannot move to another class
    engine_.stocks_.give(std::span(stock_).first(std::exchange(stocked_, 0)));
    return engine_.take(words);
  }
  void give(const Cell& cell) {
    if (given_ == given_cells_.size()) give_back();
    given_cells_[given_++] = cell;
  }

 private:
  cuckoo::Location found() const { return lists_[row_].size == 0 ? cuckoo::kNone : lists_[row_].locations[0]; }
  void stock(unsigned size_class, std::size_t cells) {
    for (std::size_t i = 0; i < stocked_ && cells > 0; ++i) cells -= stock_[i].size == class_bytes(size_class) / 8;
    cells = std::min(cells, stock_.size() - stocked_);
    const std::size_t taken =
        engine_.stocks_.take(engine_.memory_, size_class, std::span(stock_).subspan(stocked_, cells));
    for (std::size_t i = 0; i < taken; ++i) fetch_words<1>(stock_[stocked_ + i].words, stock_[stocked_ + i].size);
    stocked_ += taken;
  }
  void give_back() {
    if (given_ == 0) return;
    engine_.stocks_.give(std::span(given_cells_).first(given_));
    given_ = 0;
  }

  Engine& engine_;
  bool looked_up_ = false;
  std::size_t first_ = 0;  ///< of the rows that were looked up
  LookedUp rows_;
  std::vector<cuckoo::Hash> all_hashes_;
  std::vector<cuckoo::Location> found_;
  Moment begun_;
  std::size_t row_ = 0;  ///< of those that were fetched
  std::array<Key, kInFlight> keys_;
  std::array<cuckoo::Hash, kInFlight> hashes_;
  std::array<cuckoo::Candidates, kInFlight> lists_;
  std::array<std::uint8_t, kClasses> wanted_{};
  std::array<Cell, 2 * kInFlight> stock_;
  std::size_t stocked_ = 0;
  std::array<Cell, kInFlight> given_cells_;
  std::size_t given_ = 0;
};

}  // namespace holdfast::store::cpu
