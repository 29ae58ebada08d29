// ordered_changes.hpp: the changes of a model's batch in the order of their slots' addresses, as gphash/protocol/phases.hpp asks for them.
#pragma once

#include <cstdint>

#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::machine::model {

/// At most `kMost` of them.
template <unsigned kMost>
class OrderedChanges {
 public:
  unsigned size() const { return size_; }
  std::uint64_t number(std::uint64_t at) const { return all_[at].number; }
  index::Change change(std::uint64_t at) const { return all_[at].change; }
  const index::Slot& after(std::uint64_t at) const { return all_[at].after; }

 protected:
  void add(std::uint64_t number, index::Change change, const index::Slot& after) {
    unsigned at = size_++;
    for (; at > 0 && all_[at - 1].number > number; --at) all_[at] = all_[at - 1];
    all_[at] = {number, change, after};
  }

 private:
  struct One {
    std::uint64_t number;
    index::Change change;
    index::Slot after;
  };
  unsigned size_ = 0;
  One all_[kMost];
};

}  // namespace holdfast::machine::model
