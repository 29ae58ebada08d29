// checkpoint.cpp: the public Checkpoint.
#include "holdfast/checkpoint.hpp"

#include <mutex>
#include <new>
#include <utility>

#include "checkpoint/checkpoint_kind.hpp"
#include "checkpoint/checkpoint_object.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

class Checkpoint::Impl : public pool::OpenObject {
 public:
  explicit Impl(std::shared_ptr<checkpoint::CheckpointObject> object)
      : OpenObject(object->number(), object->path()), object_(std::move(object)) {}
  ~Impl() override {
    if (forked()) {
      // The end of its condition variable would wait for the parent's thread, which did not come along.
      static_cast<void>(new (std::nothrow) std::shared_ptr(std::move(object_)));
    } else if (object_) {
      object_->stop();  // a SavedState may keep the object, and a child drop it
    }
  }
  bool is_open() const override {
    if (forked()) return false;
    const std::lock_guard guard(mutex_);
    return object_ != nullptr;
  }
  void close() override {
    if (forked()) return;
    std::shared_ptr<checkpoint::CheckpointObject> last;
    {
      const std::lock_guard guard(mutex_);
      last.swap(object_);
    }
    if (last) last->stop();
  }
  CheckReport check() override { return object()->check(); }
  std::unique_ptr<pool::Quiesced> quiesce(const SnapshotOptions&) override {
    struct Still : pool::Quiesced {
      std::shared_ptr<checkpoint::CheckpointObject> held;
      ~Still() override {
        if (object != nullptr) held->resume_saves();
      }
    };
    auto still = std::make_unique<Still>();
    {
      const std::lock_guard guard(mutex_);
      still->held = object_;
    }
    if (!still->held) return nullptr;
    still->held->hold_saves();
    still->object = still->held.get();
    return still;
  }
  std::shared_ptr<checkpoint::CheckpointObject> object() const {
    if (forked()) throw ObjectClosed(path + " was opened by the parent of this process: open it here");
    const std::lock_guard guard(mutex_);
    if (!object_) throw ObjectClosed(path + " is closed: open it again");
    return object_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<checkpoint::CheckpointObject> object_;
};

SaveTicket::SaveTicket(std::shared_future<void> done) : done_(std::move(done)), process_(system::fork_generation()) {}

void SaveTicket::wait() const {
  if (process_ != system::fork_generation() && !is_done()) {
    throw ObjectClosed("the save was begun by the parent of this process, where alone it can be waited for");
  }
  done_.get();
}

Checkpoint::Checkpoint(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Checkpoint Checkpoint::create(Pool& pool, const std::string& name, const CheckpointOptions& options) {
  const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& file, const std::string& label) {
    return std::make_shared<Impl>(checkpoint::CheckpointObject::create(edit, file, name, options.copies,
                                                                       {.label = label, .flush = options.flush}));
  };
  return Checkpoint(PoolAccess::create<Impl>(pool, kinds::checkpoint_kind(), name, options.overwrite, make));
}

Checkpoint Checkpoint::open(Pool& pool, const std::string& name, bool flush) {
  const auto reopen = [&](const std::shared_ptr<pool::PoolFile>& file, const pool::ObjectEntry& entry,
                          const std::string& label) {
    return std::make_shared<Impl>(checkpoint::CheckpointObject::open(file, entry, {.label = label, .flush = flush}));
  };
  return Checkpoint(PoolAccess::open<Impl>(pool, name, reopen));
}

SaveTicket Checkpoint::save(std::uint64_t step, std::span<const TensorView> tensors, std::string_view text,
                            const SaveOptions& options) {
  auto layout = std::make_shared<const checkpoint::Layout>(checkpoint::layout_of(tensors));
  return SaveTicket(impl_->object()->save(step, std::move(layout), text, options));
}

TensorGroup Checkpoint::group(std::span<const TensorView> tensors) const {
  TensorGroup made;
  made.layout_ = impl_->object()->group(checkpoint::layout_of(tensors));
  return made;
}

SaveTicket Checkpoint::save(std::uint64_t step, const TensorGroup& group, std::string_view text,
                            const SaveOptions& options) {
  if (!group.layout_) throw InvalidArgument("the group has no tensors: make one with Checkpoint::group");
  return SaveTicket(impl_->object()->save(step, group.layout_, text, options));
}

void Checkpoint::map_for_gpu() const { impl_->object()->map_for_gpu(); }

SavedState Checkpoint::restore(const std::function<bool(const SavedTensor&)>& wanted, std::uint64_t sequence) const {
  return impl_->object()->restore(wanted, sequence);
}

SavedState Checkpoint::restore_into(std::span<const TensorView> tensors, void* stream) const {
  return impl_->object()->restore_to([&](const SavedState&) { return tensors; }, stream, 0);
}

SavedState Checkpoint::restore_to(const std::function<std::vector<TensorView>(const SavedState&)>& place, void* stream,
                                  std::uint64_t sequence) const {
  std::vector<TensorView> placed;
  const auto keep = [&](const SavedState& state) -> std::span<const TensorView> { return placed = place(state); };
  return impl_->object()->restore_to(keep, stream, sequence);
}

std::vector<SavedCopy> Checkpoint::list() const { return impl_->object()->list(); }
void Checkpoint::wait() const { impl_->object()->drain(); }
unsigned Checkpoint::copies() const { return impl_->object()->copies(); }
void Checkpoint::close() {
  if (impl_) impl_->close();
}
bool Checkpoint::is_open() const { return impl_ && impl_->is_open(); }

}  // namespace holdfast
