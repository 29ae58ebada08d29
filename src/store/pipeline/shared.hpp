// shared.hpp: what all callers of a pipeline share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "store/open_store.hpp"
#include "store/pipeline/queue.hpp"

namespace holdfast::store::pipeline {

struct Shared {
  OpenStore& store;
  const StoreDurability* const durability;
  const bool is_staged;
  std::chrono::nanoseconds cycle{};  ///< staged: how long one lasts
  std::atomic<bool> closing = false;
  alignas(64) std::atomic<std::uint64_t> cycles = 0;  ///< staged: of all callers
};

/// A request of a batch that was taken from its queue.
struct Item {
  StoreBatch* batch;
  std::size_t row;
  std::uint64_t hash;  ///< of its key
};

}  // namespace holdfast::store::pipeline
