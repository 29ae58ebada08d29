// pipeline_fixture.hpp: a store behind a pipeline, in both modes.
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/store_pipeline.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {

class Lagging : public StoreDurability {
 public:
  std::uint64_t durable() const override { return durable_.load(); }
  std::atomic<std::uint64_t> durable_ = 0;
};

/// A test that ends early waits for no answer.
struct Released {
  Lagging& source;
  ~Released() { source.durable_ = ~std::uint64_t{0}; }
};

class StorePipelineTest : public StoreTest, public testing::WithParamInterface<StoreMode> {
 protected:
  /// Those of the mode that is tested.
  static StorePipelineOptions with(StorePipelineOptions options) {
    options.mode = GetParam();
    options.cycle_us = 100;
    return options;
  }

  Store store_ = make({.seed = 7});
};

}  // namespace holdfast
