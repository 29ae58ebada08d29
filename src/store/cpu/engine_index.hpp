// engine_index.hpp: the index of an engine: the CPU's, which is called directly, or another one, whose place the CPU's takes when it fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>

#include "structures/cuckoo/any_index.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"

namespace holdfast::store::cpu {

/// An `Index`. Thread-safe, but for `use`. A member throws NoSpace, and from then on every member, if the other index has failed and there is no
/// memory for the CPU's.
class EngineIndex {
 public:
  explicit EngineIndex(const cuckoo::cpu::CpuOptions& options) : options_(options) { cpu_.emplace(options); }

  /// Whether another index than the CPU's is in use: small batches are slow.
  bool is_batched() const { return mode_.load(std::memory_order_acquire) == Mode::batched; }
  /// Why the CPU's took the place of the other index. Empty: it has not.
  std::string failure() const;
  /// The CPU's index, while it is built; by one thread.
  cuckoo::cpu::CpuIndex& cpu() { return *cpu_; }

  /// From here on `other` is used, which has the entries of the CPU's; those go. `rebuild(index)` enters all items into an empty CPU index when
  /// `other` fails: changes that hold claims run meanwhile, but wait at their next call of this index.
  using Rebuild = std::function<void(cuckoo::cpu::CpuIndex&)>;
  void use(std::unique_ptr<cuckoo::AnyIndex> other, Rebuild rebuild);
  /// In a forked child, where what another index is made of is the parent's: drops it without an end.
  void forget() { static_cast<void>(other_.release()); }

  void search(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Location> locations) {
    if (is_direct()) return cpu_->search(hashes, locations);
    search_otherwise(hashes, locations);
  }
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
  std::uint64_t size();
  /// An empty one of the kind in use, to measure it.
  std::unique_ptr<cuckoo::AnyIndex> another(std::uint64_t capacity);

 private:
  enum class Mode : std::uint8_t {
    direct,   ///< the CPU's, from the beginning
    batched,  ///< another one
    fallen,   ///< the CPU's, after the other one failed
    lost      ///< none
  };
  bool is_direct() const { return mode_.load(std::memory_order_acquire) == Mode::direct; }
  using Use = std::function<void(cuckoo::AnyIndex&)>;
  bool by_other(const Use& use);
  void fall_back(const std::string& why);
  void require_any() const;
  void search_otherwise(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Location> locations);
  void candidates_otherwise(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Candidates> lists);
  void exchange_otherwise(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> old,
                          std::span<const cuckoo::Location> locations, std::span<cuckoo::Outcome> outcomes);
  void erase_otherwise(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> locations,
                       std::span<cuckoo::Outcome> outcomes);
  cuckoo::Outcome exchange_again(cuckoo::Hash hash, cuckoo::Location old, cuckoo::Location next);

  const cuckoo::cpu::CpuOptions options_;
  std::atomic<Mode> mode_ = Mode::direct;
  std::optional<cuckoo::cpu::CpuIndex> cpu_;
  std::unique_ptr<cuckoo::AnyIndex> other_;  ///< stays when it has failed: threads may be in it
  Rebuild rebuild_;
  std::shared_mutex gate_;  ///< shared by uses of `other_`, alone for what replaces it
  std::string failure_;     ///< behind the gate
};

}  // namespace holdfast::store::cpu
