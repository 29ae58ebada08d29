// ordered_changes.hpp: the changes of a model's batch in the order of their slots' addresses, as gphash/protocol/phases.hpp asks for them.
#pragma once

#include <cstdint>

#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::model {

/// At most `kMost` of them.
template <unsigned kMost>
class OrderedChanges {
 public:
  unsigned size() const { return size_; }
  std::uint64_t number(std::uint64_t at) const { return all_[at].number; }
  gphash::Change change(std::uint64_t at) const { return all_[at].change; }
  const gphash::Slot& after(std::uint64_t at) const { return all_[at].after; }

 protected:
  void add(std::uint64_t number, gphash::Change change, const gphash::Slot& after) {
    unsigned at = size_++;
    for (; at > 0 && all_[at - 1].number > number; --at) all_[at] = all_[at - 1];
    all_[at] = {number, change, after};
  }

 private:
  struct One {
    std::uint64_t number;
    gphash::Change change;
    gphash::Slot after;
  };
  unsigned size_ = 0;
  One all_[kMost];
};

}  // namespace holdfast::gphash::model
