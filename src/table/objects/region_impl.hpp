// region_impl.hpp: the inside of a Region.
#pragma once

#include "holdfast/region.hpp"
#include "table/objects/mapped_object.hpp"

namespace holdfast {

class Region::Impl : public table::MappedObject {
 public:
  using MappedObject::MappedObject;
};

}  // namespace holdfast
