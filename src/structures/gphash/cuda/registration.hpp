// registration.hpp: the extents of a table, mapped for the GPU for as long as this lives.
#pragma once

#include "gpu/host_ranges.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash {
class TableObject;
}

namespace holdfast::gphash::cuda {

class Registration {
 public:
  /// Throws MediumError if the medium cannot be mapped.
  explicit Registration(gphash::TableObject& table);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Throws MediumError if an extent that was added since could not be mapped.
  void require_complete() const;

 private:
  gphash::TableObject& table_;
  gpu::HostRanges ranges_;
};

}  // namespace holdfast::gphash::cuda
