// fork.hpp: tables in memory stand still while their process forks, so that the child gets them whole.
#pragma once

namespace holdfast::dramhit {

/// What a fork of this process waits for.
class StandsStill {
 public:
  /// Returns when nothing is half done; nothing begins until `go_on`.
  virtual void stand_still() = 0;
  /// In the parent, and in the child.
  virtual void go_on(bool in_child) = 0;

 protected:
  ~StandsStill() = default;
};

/// From now on forks wait for it. Throws std::bad_alloc.
void watch_forks(StandsStill& one);
/// Before it ends.
void forget_forks(StandsStill& one);

}  // namespace holdfast::dramhit
