// region_impl.hpp: the inside of a Region.
#pragma once

#include "holdfast/region.hpp"
#include "log/check.hpp"
#include "table/objects/mapped_object.hpp"

namespace holdfast {

class Region::Impl : public table::MappedObject {
 public:
  using MappedObject::MappedObject;
  CheckReport check() override { return log::report_on_region(object().was_clean()); }
};

}  // namespace holdfast
