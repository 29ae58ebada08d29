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

/// What a pipeline is tested with.
struct PipelineCase {
  StoreMode mode;
  StoreIndex index;

  static std::string name(const testing::TestParamInfo<PipelineCase>& each) {
    const std::string mode = each.param.mode == StoreMode::direct ? "Direct" : "Staged";
    return each.param.index == StoreIndex::gpu ? mode + "InBatches" : mode;
  }
};

/// On a GPU, or a stand-in for one; in a build with CUDA on a machine without a GPU, on the CPU.
inline StoreIndex index_on_gpu() {
#ifdef HOLDFAST_WITH_CUDA
  if (cuda_devices() == 0) return StoreIndex::cpu;
#endif
  return StoreIndex::gpu;
}

class StorePipelineTest : public StoreTest, public testing::WithParamInterface<PipelineCase> {
 protected:
  /// Those of the mode that is tested.
  static StorePipelineOptions with(StorePipelineOptions options) {
    options.mode = GetParam().mode;
    options.cycle_us = 100;
    return options;
  }

  static StoreIndex index() { return GetParam().index == StoreIndex::gpu ? index_on_gpu() : GetParam().index; }
  Store store_ = make({.index = index(), .seed = 7});
};

}  // namespace holdfast
