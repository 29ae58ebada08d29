// registration.cpp: a table reports its extents, and they are mapped.
#include "structures/gphash/cuda/registration.hpp"

#include "holdfast/error.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::gphash::cuda {

Registration::Registration(gphash::TableObject& table) : table_(table) {
  if (table.medium() == Medium::file) {
    throw MediumError(
        table.path() +
        " lies on an ordinary file system, which CUDA cannot map: put it in /dev/shm, or use device=\"cpu\"");
  }
  table_.on_extent([this](void* address, std::size_t bytes) { ranges_.add(address, bytes, table_.read_only()); },
                   [this](void* address, std::size_t) { ranges_.remove(address); });
  try {
    require_complete();
  } catch (...) {
    table_.on_extent({}, {});
    throw;
  }
}

Registration::~Registration() { table_.on_extent({}, {}); }

void Registration::require_complete() const {
  if (ranges_.error().empty()) return;
  throw MediumError(table_.path() + " cannot be mapped for the GPU: " + ranges_.error() +
                    ". Put it on another medium (/dev/shm), or use device=\"cpu\"");
}

}  // namespace holdfast::gphash::cuda
