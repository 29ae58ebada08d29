// world.hpp: for tests: an index of four buckets of two cells, each access of which the explorer orders (proof/explorer.hpp), and the
// protocol's memory policy on it.
#pragma once

#include <cstdint>
#include <string>

#include "core/hash.hpp"
#include "proof/explorer.hpp"
#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo::model {

inline constexpr unsigned kCells = 2, kBuckets = 4;
inline constexpr Geometry kGeometry{2, 2, ~std::uint32_t{0}};

/// The state that callers share, and what each of them has read. A scenario derives from it and says what they do and what must hold.
class World : public proof::Callers {
 public:
  Step left_out = Step::count;  ///< a step of the protocol that is not executed

  void restart() override {
    for (auto& bucket : cells_) bucket[0] = bucket[1] = kEmpty;
    group_ = {};
    wrong_ = nullptr;
    for (unsigned i = 0; i < proof::kMostCallers; ++i) seen_[i] = blocked_[i] = 0;
    begin_state();
  }
  void resume(unsigned caller) override { current_ = caller; }
  bool is_blocked(unsigned caller) const override {
    return blocked_[caller] != 0 && group_.is_locked(static_cast<BucketNumber>(blocked_[caller] - 1));
  }
  std::uint64_t hash() const override {
    std::uint64_t state = mix(group_.word + (wrong_ != nullptr ? 1 : 0));
    for (const auto& bucket : cells_) {
      for (const std::uint64_t entry : bucket) state = mix(state + entry);
    }
    for (unsigned i = 0; i < count(); ++i) state = mix(state + seen_[i] + blocked_[i]);
    return state;
  }
  /// Nothing of the index is durable, so a crash leaves nothing to look at; what went wrong until now is reported.
  std::string crash() override { return wrong_ != nullptr ? wrong_ : ""; }
  std::string end() override {
    if (wrong_ != nullptr) return wrong_;
    std::string wrong = check_counts();
    return wrong.empty() ? end_state() : wrong;
  }

  // Accesses of the current caller.
  std::uint64_t load_cell(BucketNumber bucket, unsigned cell) {
    access();
    return note(cells_[bucket][cell]);
  }
  bool fill(BucketNumber bucket, unsigned cell, std::uint64_t entry) {
    access();
    const bool filled = cells_[bucket][cell] == kEmpty;
    if (filled) cells_[bucket][cell] = entry;
    return note(filled ? 1 : 0) != 0;
  }
  void store(BucketNumber bucket, unsigned cell, std::uint64_t entry) {
    access();
    cells_[bucket][cell] = entry;
    note(2);
  }
  Group load_group() {
    access();
    return {note(group_.word)};
  }
  bool swap_group(Group seen, Group next) {
    access();
    const bool swapped = group_.word == seen.word;
    if (swapped) group_ = next;
    return note(swapped ? 1 : 0) != 0;
  }
  void wait(BucketNumber bucket) {
    blocked_[current_] = bucket + 1;
    access();
    blocked_[current_] = 0;
  }

 protected:
  virtual void begin_state() = 0;
  virtual std::string end_state() const { return ""; }

  /// Before the first access: an entry in a cell, counted if that is in its other bucket.
  void put(BucketNumber bucket, unsigned cell, std::uint64_t entry) {
    cells_[bucket][cell] = entry;
    const std::uint32_t signature = signature_of(entry);
    if (!kGeometry.is_primary(bucket, signature)) group_ = group_.one_more(kGeometry.other(bucket, signature));
  }
  void require(bool holds, const char* wrong) {
    if (!holds && wrong_ == nullptr) wrong_ = wrong;
  }
  unsigned copies_of(std::uint64_t entry) const {
    unsigned copies = 0;
    for (const auto& bucket : cells_) copies += (bucket[0] == entry ? 1 : 0) + (bucket[1] == entry ? 1 : 0);
    return copies;
  }
  unsigned entries() const { return kBuckets * kCells - copies_of(kEmpty); }

 private:
  std::uint64_t note(std::uint64_t value) {
    seen_[current_] = mix(seen_[current_] ^ mix(value + 1));
    return value;
  }
  /// Spill counts are exact, and no lock is held.
  std::string check_counts() const {
    Group expected{};
    for (BucketNumber bucket = 0; bucket < kBuckets; ++bucket) {
      if (group_.is_locked(bucket)) return "a lock is still held";
      for (const std::uint64_t entry : cells_[bucket]) {
        const std::uint32_t signature = signature_of(entry);
        if (entry == kEmpty || kGeometry.is_primary(bucket, signature)) continue;
        expected = expected.one_more(kGeometry.other(bucket, signature));
      }
    }
    for (BucketNumber bucket = 0; bucket < kBuckets; ++bucket) {
      if (expected.spilled(bucket) != group_.spilled(bucket)) return "a spill count is wrong";
    }
    return "";
  }

  std::uint64_t cells_[kBuckets][kCells] = {};
  Group group_;
  const char* wrong_ = nullptr;
  unsigned current_ = 0;
  std::uint64_t seen_[proof::kMostCallers] = {}, blocked_[proof::kMostCallers] = {};
};

struct ModelMemory {
  static constexpr unsigned kCells = model::kCells;
  static constexpr bool kSearchBesideChanges = true, kChangeBesideMoves = true, kPrefetches = false;
  World* world;

  bool keeps(Step step) const { return step != world->left_out; }
  std::uint64_t load_cell(BucketNumber bucket, unsigned cell) const { return world->load_cell(bucket, cell); }
  BucketCells<kCells> load_bucket(BucketNumber bucket) const {
    return {{world->load_cell(bucket, 0), world->load_cell(bucket, 1)}};
  }
  bool fill(BucketNumber bucket, unsigned cell, std::uint64_t entry) const { return world->fill(bucket, cell, entry); }
  void store(BucketNumber bucket, unsigned cell, std::uint64_t entry) const { world->store(bucket, cell, entry); }
  Group load_group(BucketNumber) const { return world->load_group(); }
  bool swap_group(BucketNumber, Group seen, Group next) const { return world->swap_group(seen, next); }
  void wait(BucketNumber bucket) const { world->wait(bucket); }
  static void prefetch(BucketNumber) {}
};
static_assert(IndexMemory<ModelMemory>);
static_assert(Tile<OneThread, ModelMemory>);

}  // namespace holdfast::cuckoo::model
