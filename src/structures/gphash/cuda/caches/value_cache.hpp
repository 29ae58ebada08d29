// value_cache.hpp: keeps copies of hot values in GPU memory: how many fit, which, and when they are loaded. GPHash §3.3,
// Rule 15; value_view.hpp has the protocol.
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/caches/cache_maps.hpp"
#include "structures/gphash/cuda/directory/directory.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/cuda/value_view.hpp"
#include "structures/gphash/layout.hpp"

namespace holdfast::gphash::cuda {

/// Holds all cells (*resident*), some, or none. What the options ask for is a part of the cells, as far as the budget goes.
class ValueCache {
 public:
  explicit ValueCache(const MachineOptions& options);

  /// Alone on the table: makes space for the cells of `layout`, whose values `filled` says are worth copying at once. `knows`: searches
  /// are to know whose values have copies, since some buckets have none.
  void cover(const Layout& layout, bool filled, bool knows, cudaStream_t stream);
  /// Alone on the table: no key is left.
  void clear(cudaStream_t stream);
  /// Counts the cells in `live` (a bit each) whose copies do not say what the pool does.
  void compare(const std::uint32_t* live, const Layout& layout, ScanReport* report, cudaStream_t stream) const;

  // Loads, value_load.cu; as CacheMaps has them.
  void begin_load(const CellRing& ring, ChangeOrder& order, DeviceState* state);
  void step(const Layout& layout, ChangeOrder& order, DeviceState* state, bool paced);
  CacheMaps& maps() { return maps_; }
  const CacheMaps& maps() const { return maps_; }

  const ValueView& view() const { return view_; }
  std::uint64_t bytes() const;

 private:
  bool make_resident(const Layout& layout, bool filled, cudaStream_t stream);
  void make_maps(const Layout& layout, cudaStream_t stream);
  void extend(const Layout& layout, cudaStream_t stream);
  void look_anew(cudaStream_t stream);
  void drop();
  std::uint64_t positions_for(std::uint64_t cells) const;

  const double ratio_;
  std::uint64_t budget_;
  std::uint64_t covered_ = 0;     ///< cells
  std::uint64_t cell_bytes_ = 0;  ///< of one
  DeviceBuffer<std::byte> copies_;
  Directory directory_;
  CacheMaps maps_;
  ValueView view_;
};

/// The cells that came out of their slots, `*size` of them, have no copy any more. Within a change in phases.
void forget_copies(const ValueView& values, const std::uint32_t* cells, const std::uint32_t* size, std::uint64_t most,
                   cudaStream_t stream);

}  // namespace holdfast::gphash::cuda
