// children.cpp: the writer and the recovering child of the subject checkpoint. They use the public API only.
#include "kill/checkpoint/shared.hpp"
#include "proof/kill/registry.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "kill/checkpoint/on_gpu.hpp"
#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {
namespace {

std::uint32_t number_in(const Pool& pool) {
  const std::vector<ObjectInfo> objects = pool.objects();
  return objects.empty() ? 0 : objects.front().number;
}

class CheckpointWriter : public Writer {
 public:
  explicit CheckpointWriter(Shared& shared) : shared_(shared), ours_(shared.part<CheckpointShared>()) {}

  void open() override {
    pool_.emplace(shared_.create != 0 ? Pool::create(shared_.path) : Pool::open(shared_.path));
    if (number_in(*pool_) != 0) checkpoint_.emplace(Checkpoint::open(*pool_, kCheckpointName, ours_.round.flush));
  }
  unsigned threads() const override { return 1; }

  void call(unsigned) override {
    Random random(mix(ours_.round.seed, shared_.life));
    const auto at = static_cast<Failpoint>(ours_.calls.stop_at);
    // A save takes a new extent where the checkpoint is new: to come to a failpoint of the directory it must often be.
    const bool extents = at == Failpoint::directory_written || at == Failpoint::copy_half_written;
    while (ours_.calls.begun.load() + ours_.round.copies < kCheckpointEntries) {
      const bool often = extents || ours_.calls.stop_in == static_cast<std::uint32_t>(CheckpointCall::create);
      const bool creates = !checkpoint_ || random.chance(often ? 25 : 5);
      const CheckpointCall kind = creates ? CheckpointCall::create : CheckpointCall::save;
      ours_.calls.run(shared_, static_cast<std::uint32_t>(kind),
                      [&] { creates ? create() : save(1 + random.below(ours_.round.copies - 1)); });
    }
    ours_.calls.full.store(1, std::memory_order_release);
  }

 private:
  CheckpointEntry& begin(CheckpointCall call) {
    const std::uint32_t number = ours_.calls.begun.load();
    CheckpointEntry& entry = ours_.entries[number];
    entry = {call, 0, std::uint64_t{shared_.life} << 32 | (number + 1), 0};
    ours_.calls.begun.store(number + 1, std::memory_order_release);
    return entry;
  }
  static void acknowledge(CheckpointEntry& entry) {
    std::atomic_ref(entry.acknowledged).store(1, std::memory_order_release);
  }

  void create() {
    if (checkpoint_) checkpoint_->close();
    CheckpointEntry& entry = begin(CheckpointCall::create);
    checkpoint_.emplace(Checkpoint::create(
        *pool_, kCheckpointName, {.copies = ours_.round.copies, .overwrite = true, .flush = ours_.round.flush}));
    entry.number = number_in(*pool_);
    acknowledge(entry);
  }

  /// So many saves, all in flight at once.
  void save(std::uint64_t count) {
    std::vector<std::pair<CheckpointEntry*, SaveTicket>> under_way;
    InGpuMemory on_gpu;
    for (std::uint64_t i = 0; i < count; ++i) {
      CheckpointEntry& entry = begin(CheckpointCall::save);
      const StateOf state(ours_.round, entry.step);
      under_way.emplace_back(&entry, save(state, entry.step, on_gpu));
    }
    for (auto& [entry, ticket] : under_way) {
      ticket.wait();
      acknowledge(*entry);
    }
  }

#ifdef HOLDFAST_WITH_CUDA
  using InGpuMemory = std::vector<std::unique_ptr<TensorsOnGpu>>;
#else
  struct InGpuMemory {};
#endif
  /// On a GPU none, one or two of its tensors are there, and are written over as soon as the save has begun.
  SaveTicket save(const StateOf& state, std::uint64_t step, [[maybe_unused]] InGpuMemory& on_gpu) {
#ifdef HOLDFAST_WITH_CUDA
    if (ours_.round.gpu) {
      Random random(mix(ours_.round.seed ^ 0x67, step));
      on_gpu.push_back(std::make_unique<TensorsOnGpu>(state.tensors(), random.below(3)));
      const SaveOptions how{.stage = random.chance(50)};
      const SaveTicket ticket = checkpoint_->save(step, on_gpu.back()->tensors(), state.text(), how);
      on_gpu.back()->overwrite();
      return ticket;
    }
#endif
    return checkpoint_->save(step, state.tensors(), state.text());
  }

  Shared& shared_;
  CheckpointShared& ours_;
  std::optional<Pool> pool_;
  std::optional<Checkpoint> checkpoint_;
};

class CheckpointReader : public Reader {
 public:
  explicit CheckpointReader(Shared& shared) : shared_(shared) {}

  void open() override {
    checkpoint_.reset();
    pool_.emplace(Pool::open(shared_.path));
    std::string errors;
    for (const std::string& error : pool_->check().errors) errors += error + "; ";
    copy_text(shared_.recovered.check_errors, errors);
    if (number_in(*pool_) != 0) {
      checkpoint_.emplace(Checkpoint::open(*pool_, kCheckpointName, shared_.part<CheckpointShared>().round.flush));
    }
  }

  void look() override {
    CheckpointFound& found = shared_.part<CheckpointShared>().found;
    found.objects = static_cast<std::uint32_t>(pool_->objects().size());
    found.number = number_in(*pool_);
    if (!checkpoint_) return;
    found.copies = checkpoint_->copies();
    const std::vector<SavedCopy> all = checkpoint_->list();
    found.count = static_cast<std::uint32_t>(all.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), std::size(found.list)); ++i) {
      look(checkpoint_->restore(nullptr, all[i].sequence), found.list[i]);
    }
    try {
      const SavedState state = checkpoint_->restore();
      look(state, found.newest);
      std::string damage;
      for (const std::string& what : state.damage) damage += what + "; ";
      copy_text(found.damage, damage);
      found.has_newest = 1;
#ifdef HOLDFAST_WITH_CUDA
      if (std::strcmp(shared_.recovery_device, "cpu") == 0 || found.newest.flaw[0] != 0) return;
      const std::string flaw = flaw_on_gpu(*checkpoint_, shared_.part<CheckpointShared>().round);
      if (!flaw.empty()) copy_text(found.newest.flaw, "on the GPU: " + flaw);
#endif
    } catch (const ObjectNotFound&) {
    }
  }

  void close() override { pool_->close(); }

 private:
  void look(const SavedState& state, FoundCopy& copy) const {
    copy.step = state.step;
    copy_text(copy.flaw, StateOf(shared_.part<CheckpointShared>().round, state.step).flaw_in(state));
  }

  Shared& shared_;
  std::optional<Pool> pool_;
  std::optional<Checkpoint> checkpoint_;
};

const RegisterChildren<CheckpointWriter, CheckpointReader> checkpoint_children{"checkpoint"};

}  // namespace

}  // namespace holdfast::proof::kill
