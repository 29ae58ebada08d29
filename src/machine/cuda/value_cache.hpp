// value_cache.hpp: keeps copies of hot values in GPU memory: how many fit, which, and when they are loaded. GPHash §3.3,
// RULES.md 15; value_view.hpp has the protocol.
#pragma once

#include <cstdint>

#include "machine/cuda/runtime.hpp"
#include "machine/cuda/state.hpp"
#include "machine/cuda/value_view.hpp"
#include "machine/layout.hpp"

namespace holdfast::machine::cuda {

inline constexpr unsigned kScores = 1024;  ///< that a policy tells apart

/// Holds all cells (*resident*), some, or none. What the options ask for is a part of the cells, as far as the budget goes.
class ValueCache {
 public:
  explicit ValueCache(const MachineOptions& options);

  /// Alone on the table: makes room for the cells of `layout`, whose values `filled` says are worth copying at once.
  void cover(const Layout& layout, bool filled, cudaStream_t stream);
  /// Alone on the table: no key is left.
  void clear(cudaStream_t stream);
  /// Counts the cells in `live` (a bit each) whose copies do not say what the pool does.
  void compare(const std::uint32_t* live, const Layout& layout, ScanReport* report, cudaStream_t stream) const;

  // Loads, value_load.cu. The caller holds the right to change the table while it enqueues; what is enqueued takes its turn with
  // `last_change` for a moment, and copies beside whatever runs.

  /// Chooses what is hot, and lets go of what is not. A load that was under way has ended.
  void begin_load(const Layout& layout, const CellRing& ring, Event& last_change, DeviceState* state);
  /// Copies the next cells: `paced` few for each row searched, else as fast as a small grid does it.
  void step(const Layout& layout, Event& last_change, DeviceState* state, bool paced);
  /// Steps are left.
  bool is_loading() const { return loading_; }
  /// Until the last step has ended.
  void wait() const { stepped_.wait("loading the value cache"); }
  /// Counts rows that were searched. True if they ask for a load, or for the next step of one.
  bool is_due(std::uint64_t rows);

  const ValueView& view() const { return view_; }
  PositionState* state() const { return state_.data(); }
  std::uint64_t bytes() const;
  std::uint64_t loads() const { return loads_; }
  CachePolicy policy() const { return policy_; }

 private:
  bool make_resident(const Layout& layout, bool filled, cudaStream_t stream);
  void make_maps(const Layout& layout, cudaStream_t stream);
  void extend(const Layout& layout, cudaStream_t stream);
  void forget_all(cudaStream_t stream);
  void look_anew();
  void drop();
  std::uint64_t positions_for(std::uint64_t cells) const;

  const double ratio_;
  const CachePolicy policy_;
  std::uint64_t budget_;
  std::uint64_t load_every_;
  const bool own_pace_ = load_every_ == 0;
  std::uint64_t covered_ = 0;     ///< cells
  std::uint64_t cell_bytes_ = 0;  ///< of one
  DeviceBuffer<std::byte> copies_;
  DeviceBuffer<std::uint32_t> map_, heat_, ring_, returned_, bins_;
  DeviceBuffer<std::uint64_t> cells_;
  DeviceBuffer<PositionState> state_;
  ValueView view_;
  Stream stream_;  ///< of loads
  Event stepped_;
  bool loading_ = false;
  std::uint64_t next_ = 0;      ///< the cell that the next step begins at
  std::uint64_t searched_ = 0;  ///< rows, since the last step or load
  std::uint64_t loads_ = 0;     ///< begun
};

/// The cells that came out of their slots, `*size` of them, have no copy any more. Within a change in phases.
void forget_copies(const ValueView& values, const std::uint32_t* cells, const std::uint32_t* size, std::uint64_t most,
                   cudaStream_t stream);

}  // namespace holdfast::machine::cuda
