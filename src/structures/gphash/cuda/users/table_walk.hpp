// table_walk.hpp: walks through a table (device_walk.hpp): its slots or its cells, piece by piece, for kernels of its users.
//
// A walk keeps changing batches out, so that all that it reads stands still, and waits for the batch before. What kernels do not
// read of values, or what lies in slots, it gives slot by slot: out of the copies where all buckets have one, else as the slots come over
// the link. Values in cells, and the scores behind them, come in the order of the cells, since only that order goes at the speed of the
// link: all heads and keys are first put where their cells are. What was chosen to be erased goes, some million keys at a time, in batches like any other.
#pragma once

#include <functional>
#include <mutex>

#include "core/key_limits.hpp"
#include "structures/gphash/cuda/change/changes.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"
#include "structures/gphash/cuda/users/walk.hpp"

namespace holdfast::gphash::cuda {

class TableWalk final : public Walk {
 public:
  TableWalk(CudaTable& table, Changes& changes, const WalkPlan& plan, std::function<void()> before_change,
            cudaStream_t stream);
  ~TableWalk() override;
  bool next(ItemArrays& items) override;
  Chosen finish() override;

 private:
  bool is(WalkPlan::Purpose purpose) const { return plan_.purpose == purpose; }
  bool reads_cells() const { return plan_.reads_values || plan_.reads_scores; }
  std::unique_lock<threads::BinarySemaphore> keep_others_out() const;
  /// Of a window, for each cell.
  std::uint64_t words_by_cell() const { return 1 + (layout_.wide() ? layout_.key_words() : 0); }
  void make_space();
  void choose_staged();
  void make_arrays();
  bool next_slots(ItemArrays& items);
  bool next_cells(ItemArrays& items);
  bool next_reserved(ItemArrays& items);
  CachedSlots slots_at(unsigned rank, std::uint64_t first, std::uint64_t size);
  void begin_window();
  ByCell cells_at(std::uint64_t cell) const;
  void give_values(ItemArrays& items, const ByCell& cells);
  void stage(const ByCell& cells);
  void take_chosen();
  void give(std::uint64_t size);
  void erase_taken();

  CudaTable& table_;
  Changes& changes_;
  const OnDevice on_;
  const WalkPlan plan_;
  const std::function<void()> before_change_;
  const cudaStream_t stream_;
  const std::unique_lock<threads::BinarySemaphore> exclusive_;
  const Layout& layout_;
  const KeyLimits limits_;
  const bool by_cells_;

  // Where it is.
  unsigned rank_ = 0;
  std::uint64_t slot_ = 0, cell_ = 0;
  bool reserved_done_ = false;
  ItemArrays piece_;              ///< that was given; of size 0: none, or it is done with
  std::uint64_t first_cell_ = 0;  ///< of it
  Chosen chosen_;

  // Of a piece. Slots and cells at once, at most:
  std::uint64_t piece_slots_ = 0, piece_cells_ = 0;
  unsigned most_blocks_ = 1;
  std::uint32_t staged_from_ = 0, staged_bytes_ = 0;  ///< of a cell
  DeviceBuffer<std::uint32_t> list_;
  DeviceBuffer<unsigned long long> count_;
  DeviceBuffer<std::uint64_t> slots_;          ///< keys, words and wide keys, of buckets without copies
  DeviceBuffer<std::uint64_t> reserved_item_;  ///< head, word, and the key 0
  /// Values come over the link for one piece while the kernel of the one before looks at its own.
  struct Staging {
    struct Half {
      DeviceBuffer<std::byte> values;
      Event arrived;
    };
    explicit Staging(std::uint64_t bytes) {
      for (Half& half : halves) half.values = DeviceBuffer<std::byte>(bytes);
    }
    Half& half() { return halves[turn % 2]; }
    Half halves[2];
    unsigned turn = 0;
    bool ahead = false;  ///< the next piece's are on their way
    Event looked;        ///< the caller's stream, when what its half held before is done with
    Stream link;
  };
  std::unique_ptr<Staging> staging_;  ///< null: none come
  // Of many.
  ByCell window_;
  DeviceBuffer<std::uint64_t> window_words_;
  DeviceBuffer<std::byte> taken_;  ///< keys to be erased
  std::uint64_t taken_keys_ = 0;
};

}  // namespace holdfast::gphash::cuda
