// mapped_object.hpp: an open region or log: its bytes, mapped for a GPU where that was asked for, its sections, and its end.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "gpu/host_ranges.hpp"
#include "holdfast/region.hpp"
#include "log/data_object.hpp"
#include "pool/kinds/open_object.hpp"

namespace holdfast::table {

class MappedObject : public pool::OpenObject {
 public:
  /// Throws DeviceError where `gpu` is asked for and cannot be had.
  MappedObject(std::unique_ptr<log::DataObject> object, bool gpu);
  ~MappedObject() override;

  bool is_open() const override { return !forked() && is_open_.load(std::memory_order_acquire); }
  void close() override;
  /// Keeps sections from beginning. Throws ObjectInUse unless the caller says that no kernel and no thread writes it.
  std::unique_ptr<pool::Quiesced> quiesce(const SnapshotOptions& how) override;

  log::DataObject& object() const;  ///< throws ObjectClosed
  bool on_gpu() const { return gpu_; }

  /// What was written before in a lower domain is synced first. Throws MediumError where less than `domain` survives of what `writer`
  /// persists, InvalidArgument where an open section would have it so, and what makes the object unwritable.
  void begin_section(Domain domain, Writer writer);
  void end_section(Domain domain) noexcept;

 private:
  void raise(log::DataObject& open, Domain domain) const;

  const bool gpu_;
  std::mutex mutex_;
  std::unique_ptr<log::DataObject> object_;
  std::atomic<bool> is_open_ = true;
  unsigned sections_ = 0, in_power_ = 0;  ///< open ones; those of them that asked for domain `power`
#ifdef HOLDFAST_WITH_CUDA
  gpu::HostRanges ranges_;
#endif
};

}  // namespace holdfast::table
