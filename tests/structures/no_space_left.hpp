// no_space_left.hpp: a medium that gives files no more space.
#pragma once

#include <cerrno>

#include "system/calls.hpp"

namespace holdfast::test {

/// While it lives.
class NoSpaceLeft : public system::Observer {
 public:
  NoSpaceLeft() : before_(system::observe(this)) {}
  ~NoSpaceLeft() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override {
    return event.call == system::Call::posix_fallocate ? ENOSPC : 0;
  }

 private:
  system::Observer* const before_;
};

}  // namespace holdfast::test
