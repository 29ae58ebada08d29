// engine_index.hpp: the index of an engine: the CPU's, which is called directly, or another one, which changes reach later and whose place the CPU's takes
// when it fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "structures/cuckoo/any_index.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"
#include "structures/cuckoo/deferred_index.hpp"

namespace holdfast::store::cpu {

/// An `Index`. Thread-safe, once `begin` was called. A member throws NoSpace, and from then on every member, if the other index has failed and there is no
/// memory for the CPU's.
class EngineIndex {
 public:
  using Make = std::function<std::unique_ptr<cuckoo::AnyIndex>(const cuckoo::cpu::CpuOptions&)>;
  using Rebuild = std::function<void(cuckoo::cpu::CpuIndex&)>;
  /// `make`, if there is one, makes the other index. When that fails, `rebuild(index)` enters all items into an empty CPU index: changes that hold
  /// claims run meanwhile, but wait at their next call of this index.
  EngineIndex(const cuckoo::cpu::CpuOptions& options, Make make, Rebuild rebuild);

  /// Whether another index than the CPU's is in use: small batches are slow.
  bool is_batched() const { return mode_.load(std::memory_order_acquire) == Mode::batched; }
  /// Why the CPU's took the place of the other index. Empty: it has not.
  std::string failure() const;

  // An opening, by one thread: then errors of the other index are thrown, and `no_cell` is an outcome.
  /// log2 of the parts that FreshRows for so many rows have.
  unsigned part_bits(std::uint64_t rows) const { return cpu_->part_bits(rows); }
  /// Before anything else: makes the index for these rows and inserts them. Returns those that were not, as CpuIndex does.
  std::vector<cuckoo::Row> fill(std::span<const cuckoo::FreshRows> found);
  /// All is entered.
  void begin();

  /// In a forked child, where what another index is made of is the parent's: drops it without an end.
  void forget() { static_cast<void>(other_.release()); }

  void search(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Location> locations) {
    if (is_direct()) return cpu_->search(hashes, locations);
    search_otherwise(hashes, locations);
  }
  /// Batches of searches in two steps (cuckoo::Searching). The hashes stay until `finish`.
  class Searching {
   public:
    explicit Searching(EngineIndex& index) : index_(index) {}
    void begin(std::span<const cuckoo::Hash> hashes);
    void finish(std::span<cuckoo::Location> locations);

   private:
    EngineIndex& index_;
    std::unique_ptr<cuckoo::Searching> other_;
    std::span<const cuckoo::Hash> hashes_;
    bool is_begun_ = false;  ///< by the other index
  };
  void candidates(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Candidates> lists) {
    if (is_direct()) return cpu_->candidates(hashes, lists);
    candidates_otherwise(hashes, lists);
  }
  void exchange(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> old,
                std::span<const cuckoo::Location> locations, std::span<cuckoo::Outcome> outcomes) {
    if (is_direct()) return cpu_->exchange(hashes, old, locations, outcomes);
    exchange_otherwise(hashes, old, locations, outcomes);
  }
  void erase(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> locations,
             std::span<cuckoo::Outcome> outcomes) {
    if (is_direct()) return cpu_->erase(hashes, locations, outcomes);
    erase_otherwise(hashes, locations, outcomes);
  }
  /// Of an index that is batched, without a batch: before a search begins; what has become of the answer of one that began at `since`; and whether it
  /// has an entry. Of any other, nothing is known.
  std::uint64_t moment() const { return is_batched() ? other_->moment() : 0; }
  cuckoo::DeferredIndex::Revised revise(cuckoo::Hash hash, cuckoo::Location found, std::uint64_t since) const {
    if (!is_batched()) return {found, false};
    return other_->revise(hash, found, since);
  }
  void fetch(cuckoo::Hash hash) const {
    if (is_batched()) other_->fetch(hash);
  }
  cuckoo::DeferredIndex::Names names(cuckoo::Hash hash, cuckoo::Location location) const {
    return is_batched() ? other_->names(hash, location) : cuckoo::DeferredIndex::Names::unknown;
  }
  /// Changes of an index that is batched have reached it.
  void flush() {
    if (!is_direct()) by_other([](cuckoo::DeferredIndex& index) { index.flush(); });
  }
  std::uint64_t size();
  /// An empty one of the kind in use, to measure it.
  std::unique_ptr<cuckoo::AnyIndex> another(std::uint64_t capacity);

 private:
  enum class Mode : std::uint8_t {
    direct,   ///< the CPU's, from the beginning
    filling,  ///< another one, which does not have all entries yet
    batched,  ///< another one
    fallen,   ///< the CPU's, after the other one failed
    lost      ///< none
  };
  bool is_direct() const { return mode_.load(std::memory_order_acquire) == Mode::direct; }
  bool is_filling() const { return mode_.load(std::memory_order_acquire) == Mode::filling; }
  using Use = std::function<void(cuckoo::DeferredIndex&)>;
  bool by_other(const Use& use);
  void fall_back(const std::string& why);
  void require_any() const;
  void search_otherwise(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Location> locations);
  void candidates_otherwise(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Candidates> lists);
  void exchange_otherwise(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> old,
                          std::span<const cuckoo::Location> locations, std::span<cuckoo::Outcome> outcomes);
  void erase_otherwise(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> locations,
                       std::span<cuckoo::Outcome> outcomes);
  template <class Exchange>
  bool change(std::size_t rows, const Exchange& exchange);
  cuckoo::Outcome exchange_again(cuckoo::Hash hash, cuckoo::Location old, cuckoo::Location next);

  const cuckoo::cpu::CpuOptions options_;
  const Make make_;
  const Rebuild rebuild_;
  std::atomic<Mode> mode_ = Mode::direct;
  std::optional<cuckoo::cpu::CpuIndex> cpu_;      ///< tiny, as long as another one is in use
  std::unique_ptr<cuckoo::DeferredIndex> other_;  ///< stays when it has failed: threads may be in it
  std::shared_mutex gate_;  ///< shared by uses of `other_` but changes, alone for what replaces it
  std::string failure_;     ///< behind the gate
};

}  // namespace holdfast::store::cpu
