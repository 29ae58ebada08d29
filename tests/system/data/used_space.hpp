// used_space.hpp: space of a pool that belongs to nothing and is full of what objects had there: as a medium that takes no space back
// leaves it, or a process that was killed before it gave it back.
#pragma once

#include <cerrno>
#include <cstdint>

#include "holdfast/pool.hpp"
#include "system/calls.hpp"

namespace holdfast::proof {

/// No space is given back while it lives.
class NothingPunched : public system::Observer {
 public:
  NothingPunched() : before_(system::observe(this)) {}
  ~NothingPunched() override { system::observe(before_); }
  NothingPunched(const NothingPunched&) = delete;
  NothingPunched& operator=(const NothingPunched&) = delete;
  int before(const system::Event& event) noexcept override {
    const int error = before_ == nullptr ? 0 : before_->before(event);
    return error == 0 && event.call == system::Call::punch_hole ? EOPNOTSUPP : error;
  }
  std::uint64_t most(const system::Event& event) noexcept override {
    return before_ == nullptr ? event.bytes : before_->most(event);
  }
  void after(system::Event& event) noexcept override {
    if (before_ != nullptr) before_->after(event);
  }

 private:
  system::Observer* const before_;
};

/// Leaves a gap of 64 pages, before an object "rkept" that stays. Each page begins as a copy of a checkpoint that counts, of an early
/// save; its other words are the tails of logs with an entry.
void leave_used_space(Pool& pool);

}  // namespace holdfast::proof
