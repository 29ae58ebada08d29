// schedule.hpp: what every changing batch goes through, whatever its keys and values: it is put in order, waits for the batch before, and
// what finds no space is run again, with more space or fewer permits, until nothing is left over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "structures/gphash/cuda/maintenance/maintenance.hpp"
#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

/// Where one batch takes its cells, as far as the schedule asks.
class CellSource {
 public:
  virtual ~CellSource() = default;
  /// Around each launch that goes operation by operation: reserves what it may need, and takes back what it left.
  virtual void reserve(const ChangeJob&) {}
  virtual void release(const ChangeJob&) {}
  /// Settles cells, and grows the heap if that is needed. True: there are more cells than before, or the next `reserve` looks for them.
  virtual bool make_space(const ChangeReport& report) = 0;
  /// Nothing grew, and no fewer runs are left over. True: cells came free nevertheless, and what is left may try them. `tried`: so it did
  /// the time before.
  virtual bool came_free(const ChangeReport& report, bool tried) = 0;
};

/// Where a batch is put in order, while the one before it, which is in another, changes the table; all in GPU memory.
struct Ordering {
  DeviceBuffer<std::uint32_t> prefixes, rows;
  DeviceBuffer<std::uint64_t> ordered{1};
  DeviceBuffer<gphash::Effect> effects;
  DeviceBuffer<gphash::Writes> writes;
  DeviceBuffer<std::byte> scratch;
  Event ended;  ///< the batch that was last ordered here
};

/// How a batch is put in order.
struct OrderAsked {
  bool rows = true;     ///< at all; else each row is a run
  bool folds = false;   ///< with what each run does
  bool counts = false;  ///< and how often it writes
};

/// One batch at a time: its caller holds `changing`.
///
///   prepare   space for its leftovers and phases
///   begin     its order, which overlaps the batch before; then it waits for that on the GPU, and cells come free
///   ...       its phases, if they pay, and `repeat_leftovers`; or `repeat`; or one launch of the caller's
///   end       the next batch may begin
class ChangeSchedule {
 public:
  /// `lists`: how many arrays the phases of a batch need, the first four of them for the order of its changes.
  ChangeSchedule(CudaTable& table, Maintenance& maintenance, unsigned lists)
      : table_(table), maintenance_(maintenance), list_count_(lists) {}

  void prepare(std::uint64_t rows, bool phases);
  /// More space in an array of the batches', of which the last ends first.
  template <class T>
  void enlarge(DeviceBuffer<T>& array, std::uint64_t size) const {
    if (array.size() >= size) return;
    table_.order.finish();
    array.at_least(size);
  }
  Ordering& begin(ChangeJob& job, const OrderAsked& asked, cudaStream_t stream);
  void end(Ordering& ordering, cudaStream_t stream);

  /// It is large enough to be worth some ten launches, and 32 bits do for the numbers of slots.
  bool phases_pay(const ChangeJob& job) const;
  /// Where its changes are noted, and put in order.
  void begin_phases(PhaseWorkspace& workspace, const ChangeJob& job, const Ordering& ordering,
                    cudaStream_t stream) const;
  /// An array of a number for each row, for its phases.
  std::uint32_t* list(unsigned i) const { return lists_.data() + lists_.size() / list_count_ * i; }

  /// Operation by operation, again and again. Waits for the last.
  void repeat(ChangeJob& job, CellSource& cells, cudaStream_t stream);
  /// The same for what the phases left over. Waits for them; false: nothing is left.
  bool repeat_leftovers(ChangeJob& job, CellSource& cells, cudaStream_t stream);
  /// The job is about what it left over from now on: `size` runs.
  void take_leftovers(ChangeJob& job, std::uint64_t size) const;

 private:
  void order(ChangeJob& job, Ordering& ordering, const OrderAsked& asked, cudaStream_t stream) const;
  ChangeReport read_report(cudaStream_t stream) const;

  CudaTable& table_;
  Maintenance& maintenance_;
  const unsigned list_count_;
  Ordering orderings_[2];
  unsigned batches_ = 0;
  DeviceBuffer<ChangeReport> report_{1};
  DeviceBuffer<std::uint32_t> leftovers_;  ///< two halves: those of a launch, and those that the next one runs
  DeviceBuffer<std::uint32_t> lists_;
  DeviceBuffer<std::byte> scratch_;
};

/// Sets the words of an array of a batch's phases, which may be null, to four equal bytes.
void fill_words(void* array, int byte, std::uint64_t rows, cudaStream_t stream);

}  // namespace holdfast::gphash::cuda
