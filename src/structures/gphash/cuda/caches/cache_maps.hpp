// cache_maps.hpp: which parts of the pool a cache holds, and the loads that choose them: what the caches of values and of buckets
// share. GPHash §3.3, rule 15; map_view.hpp and gphash/protocol/cache_map.hpp have the protocol.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/change_order.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/map_view.hpp"
#include "structures/gphash/cuda/state.hpp"

namespace holdfast::gphash::cuda {

/// Parts are numbered in the order of their addresses, and so a load goes through them. Membership is frozen between loads.
class CacheMaps {
 public:
  /// `spares`: loads leave some positions to changes, which put what they write into new ones.
  CacheMaps(CachePolicy policy, std::uint64_t load_every, bool spares);

  // Alone on the table.
  /// `filled`: the first parts are cached, in their order; else none is.
  void make(std::uint64_t parts, std::uint64_t positions, bool filled, cudaStream_t stream);
  /// More parts, and positions if they are more; what is cached stays.
  void extend(std::uint64_t parts, std::uint64_t positions, cudaStream_t stream);
  /// Nothing is cached, and nothing was searched for.
  void forget_all(cudaStream_t stream);
  void drop();
  /// What is said of the keys of positions, until they are made or extended again.
  void set_directory(const DirectoryView& directory) { view_.directory = directory; }

  /// Without a map if nothing was made.
  const MapView& view() const { return view_; }
  std::uint64_t parts() const { return map_.size(); }
  PositionState* state() const { return state_.data(); }
  std::uint64_t bytes() const;
  /// Of GPU memory, that maps of so many parts take, without positions; and what each of those takes.
  static std::uint64_t bytes_for(std::uint64_t parts);
  static constexpr std::uint64_t kBytesPerPosition = 16;

  // Loads. The caller holds the right to change the table while it enqueues; what is enqueued is ordered as a change
  // for a moment, and copies beside whatever runs.

  /// Counts rows that were searched. True if they ask for a load, or for the next step of one.
  bool is_due(std::uint64_t rows);
  /// Chooses what is hot, and evicts what is not. A load that was under way has ended. `spare_free`, of a policy that records
  /// nothing, enqueues what takes the heat from parts that are not worth copying.
  void begin_load(ChangeOrder& order, DeviceState* state, const std::function<void(cudaStream_t)>& spare_free);
  /// The parts that a step looks at: `paced` few for each row searched, else as many as a small grid does at once. The owner
  /// enqueues on `stream` what copies the hot ones (cache_load.cuh), and then ends the step.
  struct Range {
    std::uint64_t first, last;
  };
  Range begin_step(ChangeOrder& order, DeviceState* state, bool paced);
  void end_step(const Range& range);
  cudaStream_t stream() const { return stream_; }
  /// Steps are left.
  bool is_loading() const { return loading_; }
  /// Until the last step has ended.
  void wait() const { stepped_.wait("loading a cache"); }
  std::uint64_t loads() const { return loads_; }  ///< begun
  CachePolicy policy() const { return policy_; }

 private:
  void look_anew(cudaStream_t stream);
  void set_view();

  const CachePolicy policy_;
  const bool spares_;
  std::uint64_t load_every_;
  const bool own_pace_ = load_every_ == 0;
  DeviceBuffer<std::uint32_t> map_, heat_, ring_, returned_, bins_;
  DeviceBuffer<std::uint64_t> owners_;
  DeviceBuffer<PositionState> state_;
  MapView view_;
  Stream stream_;  ///< of loads
  Event stepped_;
  bool loading_ = false;
  std::uint64_t next_ = 0;      ///< the part that the next step begins at
  std::uint64_t searched_ = 0;  ///< rows, since the last step or load
  std::uint64_t loads_ = 0;
};

/// Bytes of the present GPU that are free.
std::uint64_t free_memory();

}  // namespace holdfast::gphash::cuda
