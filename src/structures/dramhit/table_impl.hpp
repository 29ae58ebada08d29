// table_impl.hpp: what is behind MemoryTable: its core, the lanes that batches borrow, and their threads.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/operations.hpp"
#include "core/pieces.hpp"
#include "holdfast/memory_table.hpp"
#include "structures/dramhit/fork.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/partitions/delegation.hpp"
#include "threads/thread_number.hpp"
#include "threads/thread_team.hpp"

namespace holdfast {

class MemoryTable::Impl final : dramhit::StandsStill {
 public:
  explicit Impl(const MemoryOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  BatchResult run(const Batch& batch);
  std::size_t export_batch(std::uint64_t& cursor, std::byte* keys, std::byte* values, std::size_t n);

  const dramhit::Format format;
  const unsigned depth;
  const dramhit::Engine& engine;
  dramhit::Core core;
  threads::ThreadTeam workers;
  std::unique_ptr<dramhit::Delegation> delegation;  ///< of a partitioned table

 private:
  /// A lane for as long as it is held: the one that this thread used last, or one of those that batches share.
  class Borrowed {
   public:
    explicit Borrowed(Impl& impl);
    ~Borrowed();
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    dramhit::Lane& operator*() const { return *lane_; }

   private:
    Impl& impl_;
    std::unique_ptr<dramhit::Lane> lane_;
  };

  void stand_still() override;
  void go_on(bool in_child) override;
  struct Spread;
  BatchResult run_few(const Batch& batch, bool reads_only);
  void run_rows(const Batch& batch, bool reads_only, std::size_t begin, std::size_t end, Spread* spread,
                BatchResult& result);

  /// The idle lane of a thread, by its number. Only that thread takes it, and puts it back.
  struct alignas(64) OwnLane {
    std::atomic<dramhit::Lane*> idle{nullptr};
  };
  OwnLane* own_lane() {
    const unsigned number = threads::thread_number();
    return number < threads::kThreadNumbers ? &own_lanes_[number] : nullptr;
  }
  const std::unique_ptr<OwnLane[]> own_lanes_ = std::make_unique<OwnLane[]>(threads::kThreadNumbers);

  std::mutex mutex_;  // over what follows; held while the process forks
  std::vector<std::unique_ptr<dramhit::Lane>> lanes_;
  std::size_t made_ = 0;  ///< lanes, at most; `lanes_` has space for all of them
};

namespace dramhit {

/// Throws InvalidArgument for options that no table in memory can have.
void check_options(const MemoryOptions& options);
/// The same for a depth.
void check_depth(unsigned depth);
/// The operations of its rows. Throws InvalidArgument if `batch` does not fit a table with such items.
OpSet check_batch(const Batch& batch, const Format& format);

}  // namespace dramhit
}  // namespace holdfast
