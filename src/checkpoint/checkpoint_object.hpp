// checkpoint_object.hpp: a checkpoint as an object of a pool: its copies, the saves in flight, and the thread that ends them.
#pragma once

#include <condition_variable>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/catalogue.hpp"
#include "checkpoint/save.hpp"
#include "pool/object.hpp"

namespace holdfast::checkpoint {

struct Use {
  std::string label;
  bool flush = false;
};

/// What is wrong with the header and the extents of one; empty if nothing is.
std::string flaw_in(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page);

/// Thread-safe. Its clean mark stays set: a save is on its device before it counts, so there is nothing to sync.
class CheckpointObject : public pool::Object, public std::enable_shared_from_this<CheckpointObject> {
 public:
  static std::shared_ptr<CheckpointObject> create(pool::Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                                  const std::string& name, unsigned copies, const Use& use);
  static std::shared_ptr<CheckpointObject> open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                                const Use& use);
  ~CheckpointObject() override;

  std::shared_future<void> save(std::uint64_t step, std::shared_ptr<const Layout> layout, std::string_view text,
                                const SaveOptions& options);
  std::shared_ptr<const Layout> group(Layout layout);
  void map_for_gpu();
  SavedState restore(const std::function<bool(const SavedTensor&)>& wanted, std::uint64_t sequence);
  /// Fills, by name, the tensors that `place` gives for a state that is not verified yet; they stay until it is asked again.
  using TensorsFor = std::function<std::span<const TensorView>(const SavedState&)>;
  SavedState restore_to(const TensorsFor& place, void* stream, std::uint64_t sequence);
  std::vector<SavedCopy> list() const;
  void drain() const;
  /// Verifies every state that counts. Saves continue; throws ObjectClosed after `stop`.
  CheckReport check();
  /// Waits for the saves that run, and keeps others from beginning, until `resume_saves` is called as often.
  void hold_saves();
  void resume_saves() noexcept;
  void stop();  ///< after the last save: the thread ends
  unsigned copies() const { return static_cast<unsigned>(copies_.size()); }
  const std::byte* address_of(const pool::Extent& extent) const override;

 private:
  struct Copy {
    pool::Range range;
    std::uint64_t sequence = 0;  ///< of the state that counts; 0: none does
    bool busy = false;           ///< a save is in flight
    unsigned held = 0;           ///< by SavedStates
  };
  struct Job {
    unsigned copy;
    Plan plan;
    std::unique_ptr<Transfer> transfer;  ///< null: no tensor is a GPU's
    std::promise<void> done;
  };
  /// A copy that is restored.
  struct Source {
    CopyHeader header;
    Catalogue catalogue;
    CopyParts parts;
    pool::Range range;
  };
  /// Says what is damaged; empty: nothing, and the state is complete.
  using Take = std::function<std::string(Source&, SavedState&)>;
  CheckpointObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const Use& use, unsigned copies);
  void map_all();
  void look();
  CopyHeader* header(unsigned copy) const { return reinterpret_cast<CopyHeader*>(copies_[copy].range.address); }
  std::uint64_t* word() const { return reinterpret_cast<std::uint64_t*>(behind_pages()); }
  int oldest() const;  ///< that may be written now; -1: none
  void make_space(unsigned copy, std::uint64_t bytes);
  void require_open() const;  ///< throws ObjectClosed
  void start_thread();        ///< unless it runs
  void work();
  std::unique_ptr<Transfer> copy_tensors(const pool::Range& range, const Plan& plan, const SaveOptions& options);
  void finish(Job& job);
  SavedState newest(const Take& take, std::uint64_t sequence);  ///< 0: any
  std::string take_from(unsigned copy, const Take& take, SavedState& state);
  void release(unsigned copy);
  bool newest_is_missing() const;
  std::string missing_newest() const;
  DeviceSide& device();
  void forget(const pool::Range& range);

  std::mutex saving_;  ///< before the other one: saves count in the order in which they were copied
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Copy> copies_;
  std::uint64_t word_ = 0;  ///< what counts: as in the pool, or made up for where that is damaged
  std::uint64_t next_sequence_ = 1;
  bool word_damaged_ = false;
  bool stopping_ = false;
  std::list<Job> jobs_;
  unsigned in_flight_ = 0;
  unsigned holds_ = 0;  ///< of saves
  std::thread thread_;
  std::mutex device_mutex_;             ///< after the others
  std::unique_ptr<DeviceSide> device_;  ///< once a tensor of a GPU has come
};

}  // namespace holdfast::checkpoint
