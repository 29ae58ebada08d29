// mapped_object.cpp: sections of an open region or log, and how it closes.
#include "table/objects/mapped_object.hpp"

#include <utility>

namespace holdfast::table {

MappedObject::MappedObject(std::unique_ptr<log::DataObject> object, bool gpu)
    : OpenObject(object->number(), object->path()), gpu_(gpu), object_(std::move(object)) {
  if (!gpu_) return;
#ifdef HOLDFAST_WITH_CUDA
  ranges_.add(object_->mapped().address, object_->mapped().bytes, object_->read_only());
  if (!ranges_.error().empty()) throw DeviceError(path + " cannot be used on a GPU: " + ranges_.error());
#else
  throw DeviceError(path + " cannot be used on a GPU: this Holdfast was built without CUDA");
#endif
}

MappedObject::~MappedObject() {
  try {
    close();
  } catch (const Error&) {
    // its next opening says what it lacks
  }
}

log::DataObject& MappedObject::object() const {
  if (forked()) throw ObjectClosed(path + " was opened by the parent of this process: open it here");
  if (!is_open()) throw ObjectClosed(path + " is closed: open it again");
  return *object_;
}

void MappedObject::begin_section(Domain domain, Writer writer) {
  object();  // before the lock: throws in a forked child
  const std::lock_guard guard(mutex_);
  log::DataObject& open = object();
  open.pool().require_kept();
  const bool gpu = writer == Writer::gpu;
  if (gpu && !gpu_) throw InvalidArgument(path + " was not opened for a GPU: open it with gpu = true");
  if (const Domain there = open.domain(gpu); there < domain) {
    throw MediumError(path + " is on medium " + name(open.medium()) + ", where what a " + (gpu ? "GPU" : "CPU") +
                      " persists survives " + name(there) + " and not " + name(domain) +
                      ": ask for less, or move the pool to a medium that keeps it");
  }
  if (in_power_ != 0 && open.domain(gpu) < Domain::power) {
    throw InvalidArgument(path +
                          " has an open section of domain power, and what a GPU writes would have all of it refused " +
                          "after a power cut: end that section first");
  }
  raise(open, domain);
  open.pool().keep_space();
  open.mark_changed(gpu);
  ++sections_;
  if (domain == Domain::power) ++in_power_;
}

/// What was written in a lower domain since the last sync would be refused after a power cut, and all that follows with it.
void MappedObject::raise(log::DataObject& open, Domain domain) const {
  if (open.noted() >= domain) return;
  if (sections_ != 0) {
    throw InvalidArgument(path + " has an open section of which less survives than " + name(domain) + ": end it first");
  }
  open.sync();
  if (open.noted() < domain) {
    throw MediumError(path +
                      " is open with salvage, and is refused after each restart: copy what is in it to a new object");
  }
}

void MappedObject::end_section(Domain domain) noexcept {
  if (forked()) return;
  const std::lock_guard guard(mutex_);
  --sections_;
  if (domain == Domain::power) --in_power_;
}

std::unique_ptr<pool::Quiesced> MappedObject::quiesce(const SnapshotOptions& how) {
  struct Still : pool::Quiesced {
    std::unique_lock<std::mutex> lock;
  };
  auto still = std::make_unique<Still>();
  still->lock = std::unique_lock(mutex_);
  if (!is_open()) return nullptr;
  if (!how.writers_idle && !object_->read_only()) {
    throw ObjectInUse(path +
                      " is open in this process, and kernels or threads may write it: close it first, or say that "
                      "none does (SnapshotOptions::writers_idle)");
  }
  still->object = object_.get();
  return still;
}

void MappedObject::close() {
  if (forked()) {
    static_cast<void>(object_.release());  // its mappings and locks are the parent's
    return;
  }
  const std::lock_guard guard(mutex_);
  if (!is_open()) return;
  if (sections_ != 0) throw InvalidArgument(path + " has an open section: end it first");
  struct End {  // also where its medium has failed
    MappedObject& its;
    ~End() {
#ifdef HOLDFAST_WITH_CUDA
      its.ranges_.remove_all();
#endif
      its.is_open_.store(false, std::memory_order_release);
      its.object_.reset();
    }
  } const end{*this};
  if (!object_->read_only()) object_->sync();
}

}  // namespace holdfast::table
