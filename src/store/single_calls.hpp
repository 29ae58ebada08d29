// single_calls.hpp: calls with one key. With the index on a GPU those of several threads are executed together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "store/combined.hpp"
#include "store/cpu/group.hpp"
#include "store/open_store.hpp"

namespace holdfast::store {

/// Copies what a key has.
struct ItemCopier {
  const cpu::Engine& engine;
  StoreItem& item;

  bool operator()(const Header& header, State state, std::uint64_t sequence, const Cell& cell) const {
    item.value.resize(header.value_bytes);
    item.flags = header.flags;
    item.cas = engine.cas_of(header, sequence, cell);
    item.expiry = state.expiry();
    item.is_stale = state.is_stale();
    return engine.copy_value(header, sequence, cell, reinterpret_cast<std::byte*>(item.value.data()));
  }
};

/// Thread-safe.
class SingleCalls {
 public:
  explicit SingleCalls(OpenStore& store) : store_(store), combines_(store.options().index == StoreIndex::gpu) {}

  /// Whether the key has an item, which is copied to `item` unless that is null.
  bool read(std::span<const std::byte> key, StoreItem* item);
  /// `number`: the new one of a `count`.
  Change change(const cpu::Ask& ask, std::uint64_t* number = nullptr);

 private:
  struct Read {
    std::span<const std::byte> key;
    StoreItem* item;
    bool* found;
  };
  struct Changed {
    const cpu::Ask* ask;
    Change* change;
    std::uint64_t* number;
  };
  void read_all(std::span<const Read* const> calls);
  void change_all(std::span<const Changed* const> calls);
  void look_at(cpu::Engine& engine) { combines_.store(engine.index().is_batched(), std::memory_order_relaxed); }

  OpenStore& store_;
  std::atomic<bool> combines_;  ///< until the index is on the CPU
  Combined<Read> reads_;        ///< apart, since changes may have to wait while reads continue
  Combined<Changed> changes_;
};

}  // namespace holdfast::store
