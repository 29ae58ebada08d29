// held.hpp: the implementation pointer of a movable object, which is empty after a move.
#pragma once

#include <memory>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast {

/// A std::shared_ptr or std::unique_ptr that throws ObjectClosed when it is dereferenced while empty.
template <class Pointer>
class Held {
 public:
  Held() = default;
  explicit Held(Pointer pointer) : pointer_(std::move(pointer)) {}

  typename Pointer::element_type* operator->() const {
    if (!pointer_) throw ObjectClosed("this object was moved from and holds nothing: use the one that it was moved to");
    return pointer_.get();
  }
  typename Pointer::element_type& operator*() const { return *operator->(); }
  explicit operator bool() const { return pointer_ != nullptr; }
  const Pointer& pointer() const { return pointer_; }

 private:
  Pointer pointer_;
};

}  // namespace holdfast
