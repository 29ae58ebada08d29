// stand_in_index.hpp: an index with batches only, of which one at a time is executed, as a GPU would; it fails when a test says so.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "holdfast/error.hpp"
#include "structures/cuckoo/any_index.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"

namespace holdfast::store {

/// What tests arrange, and see, of all stand-ins.
struct StandIn {
  static inline std::atomic<std::int64_t> calls_left = -1;  ///< until it fails, amid a call; negative: it does not
  static inline std::atomic<std::uint64_t> most_entries = ~std::uint64_t{0};  ///< that it has memory for
  static inline std::atomic<bool> is_missing = false;  ///< there is none: as a machine without a GPU
  static constexpr int devices = 3;
  static inline std::atomic<std::uint64_t> calls = 0, rows = 0;
  static inline std::atomic<unsigned> pause_us = 0;  ///< that each call takes at least
};

class StandInIndex final : public cuckoo::AnyIndex {
 public:
  explicit StandInIndex(const cuckoo::cpu::CpuOptions& options) : options_(options), index_(options) {}

  void search(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Location> locations) const override {
    run(hashes.size(), [&](std::size_t from, std::size_t rows) {
      index_.search(hashes.subspan(from, rows), locations.subspan(from, rows));
    });
  }
  std::unique_ptr<cuckoo::Searching> searching() const override {
    return std::make_unique<cuckoo::SearchingLater<StandInIndex>>(*this);
  }
  void candidates(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Candidates> lists) const override {
    run(hashes.size(), [&](std::size_t from, std::size_t rows) {
      index_.candidates(hashes.subspan(from, rows), lists.subspan(from, rows));
    });
  }
  void exchange(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> old,
                std::span<const cuckoo::Location> locations, std::span<cuckoo::Outcome> outcomes) override {
    run(hashes.size(), [&](std::size_t from, std::size_t rows) {
      for (std::size_t i = from; i < from + rows; ++i) {
        if (old[i] == cuckoo::kNone && index_.size() >= StandIn::most_entries) {
          outcomes[i] = cuckoo::Outcome::no_cell;
        } else {
          index_.exchange(hashes.subspan(i, 1), old.subspan(i, 1), locations.subspan(i, 1), outcomes.subspan(i, 1));
        }
      }
    });
  }
  void erase(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> locations,
             std::span<cuckoo::Outcome> outcomes) override {
    run(hashes.size(), [&](std::size_t from, std::size_t rows) {
      index_.erase(hashes.subspan(from, rows), locations.subspan(from, rows), outcomes.subspan(from, rows));
    });
  }
  std::vector<cuckoo::Row> fill(std::span<const cuckoo::FreshRows> found) override {
    std::vector<std::span<const cuckoo::Row>> spans;
    for (const cuckoo::FreshRows& rows : found) {
      for (std::size_t part = 0; part < rows.parts(); ++part) rows.list(part, spans);
    }
    std::vector<cuckoo::Row> all;
    for (const auto rows : spans) all.insert(all.end(), rows.begin(), rows.end());
    return all.size() <= StandIn::most_entries ? index_.fill(found) : all;
  }
  std::uint64_t size() const override { return index_.size(); }
  std::unique_ptr<cuckoo::AnyIndex> another(std::uint64_t capacity) const override {
    cuckoo::cpu::CpuOptions options = options_;
    options.capacity = capacity;
    return std::make_unique<StandInIndex>(options);
  }

 private:
  /// `task(from, rows)` executes rows. A call that fails has executed half of its rows, whose results are lost.
  template <class Task>
  void run(std::size_t rows, const Task& task) const {
    // Outside of the lock: threads that wait for one may overtake each other for long.
    if (StandIn::pause_us != 0) std::this_thread::sleep_for(std::chrono::microseconds(StandIn::pause_us));
    const std::lock_guard lock(mutex_);
    if (!failed_ && StandIn::calls_left >= 0) failed_ = StandIn::calls_left.fetch_sub(1) == 0;
    const std::uint64_t number = StandIn::calls.fetch_add(1);
    StandIn::rows += rows;
    task(std::size_t{0}, failed_ ? (rows + number % 2) / 2 : rows);
    if (failed_) throw DeviceError("the GPU was lost");
  }

  const cuckoo::cpu::CpuOptions options_;
  mutable cuckoo::cpu::CpuIndex index_;
  mutable std::mutex mutex_;
  mutable bool failed_ = false;
};

}  // namespace holdfast::store
