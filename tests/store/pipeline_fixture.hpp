// pipeline_fixture.hpp: a store behind a pipeline, in both modes.
#pragma once

#include <algorithm>
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
  int devices = 1;  ///< with `gpu`, if there are so many

  static std::string name(const testing::TestParamInfo<PipelineCase>& each) {
    const std::string mode = each.param.mode == StoreMode::direct ? "Direct" : "Staged";
    const std::string name = each.param.index == StoreIndex::gpu ? mode + "InBatches" : mode;
    return each.param.devices > 1 ? name + "OfShards" : name;
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

  static StoreOptions options() {
    StoreOptions options{.seed = 7};
    if (GetParam().index == StoreIndex::gpu) options.index = index_on_gpu();
    if (options.index != StoreIndex::gpu) return options;
#ifdef HOLDFAST_WITH_CUDA
    const int devices = std::min(GetParam().devices, cuda_devices());
#else
    const int devices = GetParam().devices;
#endif
    for (int device = 0; device < devices; ++device) options.devices.push_back(device);
    return options;
  }
  Store store_ = make(options());
};

}  // namespace holdfast
