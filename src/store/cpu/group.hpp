// group.hpp: a few operations of any kinds: their memory is fetched together, and they are executed one by one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/cpu/batch.hpp"

namespace holdfast::store::cpu {

/// For one thread, which executes rows in their order. A read sees the changes of earlier rows.
class Engine::Group {
 public:
  static constexpr std::uint64_t kNoCell = BatchParts::kNoCell;  ///< words of a row that writes no item
  static constexpr std::uint64_t kReads = BatchParts::kReads;    ///< and of one that reads an item

  explicit Group(Engine& engine) : engine_(engine), parts_(engine) {}

  /// `row(i)` for each row executes it by one of the members below, or leaves it. `keys[i]`, and `words(i)` of the item that row i writes. `looked_up`,
  /// if not null: all rows.
  template <class Keys, class WordsOf, class Row>
  void run(const Keys& keys, std::size_t size, const WordsOf& words, const Row& row,
           const LookedUp* looked_up = nullptr) {
    if (looked_up != nullptr) parts_.use(*looked_up);
    for (std::size_t first = 0; first < size; first += kInFlight) {
      if (looked_up == nullptr && first % kLookedUp == 0)
        parts_.look_up(keys, first, std::min(kLookedUp, size - first));
      const std::size_t some = std::min(kInFlight, size - first);
      parts_.fetch(keys, first, some, words);
      for (std::size_t i = 0; i < some; ++i) {
        key_ = &parts_.begin_row(i);
        row(first + i);
      }
    }
  }
  /// `copy` as in `Engine::read`.
  template <class Copy>
  bool read(const Copy& copy) {
    const Cell found = parts_.find_row(copy);
    if (!found.none()) engine_.cells_.mark(found.location);
    return !found.none();
  }
  Change set(const Content& content, Condition condition, std::uint64_t cas) {
    return engine_.set(parts_, *key_, content, condition, cas);
  }
  Change erase() { return store::erase(parts_, *key_); }
  /// As `Engine::change`.
  Change change(const Ask& ask, std::uint64_t& number) { return engine_.change(parts_, *key_, ask, number); }
  /// Of the item that a change writes.
  static std::uint64_t words_of(const Ask& ask) {
    if (ask.kind == Ask::Kind::count) return counted_words(ask.content.key_bytes);
    return ask.kind == Ask::Kind::set ? ask.content.header().words() : kNoCell;
  }

 private:
  /// Rows for which an index with batches only is searched at once.
  static constexpr std::size_t kLookedUp = std::size_t{1} << 15;
  Engine& engine_;
  BatchParts parts_;
  const Key* key_ = nullptr;
};

/// What a look at the item says that the index named: `again` if it is another key's, or an older state.
enum class Look : std::uint8_t { found, absent, again };

/// By hash, which keys a batch of reads has looked up again. Such a read may meet a later state than the index named for later reads of the key, in this
/// batch or in the next. These look again too, so that no caller goes back to an older state.
class LookedAgain {
 public:
  void begin_next() { ++batch_; }
  /// The last batch was executed before this one was looked up.
  void begin_alone() { batch_ += kOverlapping; }
  bool has(cuckoo::Hash hash) const {
    return batch_ - newest_ < kOverlapping && batch_ - last_[hash % last_.size()] < kOverlapping;
  }
  void note(cuckoo::Hash hash) { last_[hash % last_.size()] = newest_ = batch_; }

 private:
  static constexpr std::uint32_t kOverlapping = 2;
  std::uint32_t batch_ = kOverlapping, newest_ = 0;  ///< in which something was noted last
  std::array<std::uint32_t, 4096> last_{};           ///< batch
};

/// Reads whose locations the index gives as one batch, any time before they are executed, and perhaps rows of others behind them. For one thread at a time.
class Engine::Lookup {
 public:
  /// Begins with other rows: `keys[i]`.
  template <class Keys>
  void look_up(Engine& engine, const Keys& keys, std::size_t size) {
    take_rows(engine, keys, size);
    engine.index_.search(hashes_, locations_);
  }
  /// The same in two steps, between which the caller does other things. Nothing else is called between them.
  template <class Keys>
  void begin(Engine& engine, const Keys& keys, std::size_t size) {
    searching_.emplace(engine.index_);  // the engine of the batch before may be gone
    take_rows(engine, keys, size);
    searching_->begin(hashes_);
  }
  void finish() {
    if (searching_) searching_->finish(locations_);
    searching_.reset();
  }
  /// Rows from `first` on, for a `Group`, if the index has batches only. It was finished.
  std::optional<LookedUp> rows_from(std::size_t first) const {
    if (!is_batched_) return {};
    return LookedUp{std::span(locations_).subspan(first), since_, begun_};
  }
  /// Fetches what `read` needs of a row.
  void fetch(std::size_t row) const {
    cuckoo::Location location = locations_[row];
    if (is_batched_) location = engine_->index_.revise(hashes_[row], location, since_).location;
    const Cell cell = location == cuckoo::kNone ? Cell{} : engine_->cells_.at({location});
    if (!cell.none()) fetch_words<0>(cell.words, cell.size);
  }
  /// Executes the rows: `read(row, look)` calls `look(copy)` once, with `copy` as in `Engine::read`, and returns what that returned. Rows whose item
  /// has changed since the look-up are looked up again, together, and read again; those of one key are answered in their order.
  template <class Keys, class Read>
  void run(const Keys& keys, const Read& read) {
    again_.begin_alone();
    run_all(keys, hashes_.size(), again_, read);
  }
  /// The same of the first rows, where the next batch was looked up before this one is executed. `again`: of all of them.
  template <class Keys, class Read>
  void run(const Keys& keys, std::size_t size, LookedAgain& again, const Read& read) {
    again.begin_next();
    run_all(keys, size, again, read);
  }

 private:
  static constexpr std::size_t kAhead = kInFlight / 2;  ///< rows between the fetch and the read of one
  template <class Keys>
  void take_rows(Engine& engine, const Keys& keys, std::size_t size) {
    engine_ = &engine;
    begun_ = engine.counters_.moment();
    is_batched_ = engine.index_.is_batched();
    since_ = engine.index_.moment();
    hashes_.resize(size);
    locations_.resize(size);
    for (std::size_t i = 0; i < size; ++i) hashes_[i] = engine.key_at(keys, i).hash;
  }
  template <class Copy>
  Look look(std::size_t row, std::span<const std::byte> key, const Copy& copy) {
    const Key its{key.data(), static_cast<std::uint16_t>(key.size()), hashes_[row]};
    cuckoo::DeferredIndex::Revised now{locations_[row], true};
    if (is_batched_) now = engine_->index_.revise(its.hash, now.location, since_);
    if (now.location == cuckoo::kNone) return now.is_certain ? Look::absent : Look::again;
    Parts parts(*engine_);
    Moment begun = parts.time();
    begun.newest = begun_.newest;
    const auto is_in = [&](const Cell& cell) {
      return !cell.none() && ask(parts, its, cell, begun, copy) == Answer::item;
    };
    Cell found = engine_->cells_.at({now.location});
    if (!is_in(found)) {
      found = parts.latest(its);
      if (!is_in(found)) return Look::again;
    }
    engine_->cells_.mark(found.location);
    return Look::found;
  }
  template <class Keys, class Read>
  void run_all(const Keys& keys, std::size_t size, LookedAgain& again, const Read& read) {
    left_.clear();
    for (std::size_t row = 0; row < std::min(kAhead, size); ++row) fetch(row);
    for (std::uint32_t row = 0; row < size; ++row) {
      if (row + kAhead < size) fetch(row + kAhead);
      const auto look = [&](const auto& copy) { return this->look(row, keys[row], copy); };
      if (!again.has(hashes_[row]) && read(row, look) != Look::again) continue;
      again.note(hashes_[row]);
      left_.push_back(row);
    }
    if (!left_.empty()) run_left(keys, read);
  }
  /// The rows `left_`, with all that the index names for each. A row whose item changes meanwhile is looked up alone, and so are later rows of its key.
  template <class Keys, class Read>
  void run_left(const Keys& keys, const Read& read) {
    Parts parts(*engine_);
    const Moment begun = parts.moment();
    left_hashes_.clear();
    for (const std::uint32_t row : left_) left_hashes_.push_back(hashes_[row]);
    lists_.resize(left_.size());
    engine_->index_.candidates(left_hashes_, lists_);
    again_.begin_alone();
    for (std::size_t i = 0; i < left_.size(); ++i) {
      const std::uint32_t row = left_[i];
      const Key key{keys[row].data(), static_cast<std::uint16_t>(keys[row].size()), hashes_[row]};
      read(row, [&](const auto& copy) {
        typename Parts::Candidates candidates;
        const bool known = !again_.has(key.hash) && parts.cells_of(lists_[i], candidates);
        const unsigned looks = parts.looks();
        const Cell found = known ? find(parts, key, begun, candidates, copy) : find(parts, key, copy);
        if (parts.looks() != looks) again_.note(key.hash);
        if (!found.none()) engine_->cells_.mark(found.location);
        return found.none() ? Look::absent : Look::found;
      });
    }
  }
  Engine* engine_ = nullptr;
  Moment begun_;
  bool is_batched_ = false;  ///< the index was, when it was searched
  std::uint64_t since_ = 0;  ///< by its count
  std::optional<EngineIndex::Searching> searching_;
  LookedAgain again_;
  std::vector<std::uint32_t> left_;  ///< rows that must be looked up again
  std::vector<cuckoo::Hash> left_hashes_;
  std::vector<cuckoo::Candidates> lists_;  ///< of these
  std::vector<cuckoo::Hash> hashes_;
  std::vector<cuckoo::Location> locations_;
};

}  // namespace holdfast::store::cpu
