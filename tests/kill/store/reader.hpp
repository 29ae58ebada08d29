// reader.hpp: the child that reopens a store, and what it and the writer say of an item.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <thread>

#include "holdfast/store.hpp"
#include "holdfast/table.hpp"
#include "proof/kill/children.hpp"
#include "shared.hpp"

namespace holdfast::proof::kill {

inline constexpr std::uint64_t kEvictingLimit = 8 << 20;

inline StoreOptions store_options(const StoreRound& round, StoreIndexOn index) {
  StoreOptions options;
  if (round.use == StoreUseOf::evicts) options = {.limit_bytes = kEvictingLimit, .evict = true};
  options.index = index == StoreIndexOn::gpu ? StoreIndex::gpu : StoreIndex::cpu;
  if (kStandsIn && options.index == StoreIndex::gpu && round.seed % 3 != 0) options.devices = {0, 1};
  options.flush = round.flush != 0;
  options.seed = round.seed;
  return options;
}

/// What an item is, for the oracle.
inline StoreState state_of(std::string_view value, std::uint64_t flags, std::uint64_t expiry, std::uint64_t cas) {
  StoreState state = {};
  state.digest = digest(value.data(), value.size());
  state.bytes = value.size();
  state.flags = flags;
  state.expiry = expiry;
  state.cas = cas;
  return state;
}
inline StoreState state_of(const StoreItem& item) {
  StoreState state = state_of(item.value, item.flags, item.expiry, 0);
  state.stale = item.is_stale ? 1 : 0;
  state.number = item.cas;
  return state;
}

class StoreReader : public Reader {
 public:
  explicit StoreReader(Shared& shared) : shared_(shared) {}
  void open() override {
    pool_.emplace(Pool::open(shared_.path));
    if (!pool_->objects().empty())
      store_.emplace(Store::open(*pool_, "s", store_options(ours_.round, ours_.round.recovers_index)));
  }
  void look() override {
    if (!store_) return;
    while (store_->now() <= ours_.planned.load()) std::this_thread::yield();  // what was planned is done
    ours_.found_store = 1;
    ours_.now_before = store_->now();
    std::map<std::string, std::uint64_t, std::less<>> numbers;
    for (std::uint64_t key = 0; key < kStoreKeys; ++key) {
      numbers[store_key(key)] = key;
      if (const auto item = store_->get(store_key(key))) ours_.found[key].state = state_of(*item);
    }
    for (unsigned counter = 0; counter < kStoreCounters; ++counter) {
      const auto item = store_->get(counter_key(counter));
      ours_.found_count[counter] = item ? std::stoull(item->value) : 0;
    }
    store_->for_each([&](std::string_view key, const StoreItem& item) {
      ++ours_.found_visits;
      if (key.starts_with("counter ")) return true;
      const auto at = numbers.find(key);
      if (at == numbers.end()) {
        ++ours_.foreign;
        return true;
      }
      StoreFound& found = ours_.found[at->second];
      ++found.visits;
      if (found.state.digest != digest(item.value.data(), item.value.size()) || found.state.number != item.cas) {
        ++ours_.foreign;
      }
      return true;
    });
    ours_.now_after = store_->now();
    ours_.found_size = store_->size();
    const CheckReport report = store_->check();
    if (!report.errors.empty()) copy_text(shared_.recovered.check_errors, report.errors.front());
    shared_.recovered.moved = report.finished_moves;
  }
  void close() override { pool_->close(); }

 private:
  Shared& shared_;
  StoreShared& ours_ = shared_.part<StoreShared>();
  std::optional<Pool> pool_;
  std::optional<Store> store_;
};

}  // namespace holdfast::proof::kill
