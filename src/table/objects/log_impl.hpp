// log_impl.hpp: the inside of a Log.
#pragma once

#include <array>
#include <vector>

#include "holdfast/log.hpp"
#include "log/cpu/view.hpp"
#include "table/objects/mapped_object.hpp"
#ifdef HOLDFAST_WITH_CUDA
#include "gpu/runtime.hpp"
#endif

namespace holdfast {

class Log::Impl : public table::MappedObject {
 public:
  /// Throws PoolCorrupt where a tail is damaged.
  Impl(std::unique_ptr<log::DataObject> object, bool gpu);

  using Entry = std::array<std::uint32_t, log::kMostEntryBytes / 4>;
  const log::LogShape& shape() const { return shape_; }
  /// Throws ObjectClosed.
  log::View<log::CpuMemory> view() const;
  log::CpuMemory memory() const { return log::CpuMemory(object().persist()); }
  CheckReport check() override;
  /// The CPU changes the log now.
  void change();
  LogHandle handle(Domain domain);

 private:
  log::LogShape shape_;
  mutable std::vector<std::uint32_t> holds_;  ///< conventional
#ifdef HOLDFAST_WITH_CUDA
  gpu::DeviceBuffer<std::uint32_t> shown_, held_;
  std::atomic<bool> stale_ = true;  ///< the CPU has changed the log since `shown_` was written
#endif
};

}  // namespace holdfast
