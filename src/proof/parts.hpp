// parts.hpp: a kernel that transfers little at a time: every read, write, receive and send moves a part of its bytes, and is interrupted now and then.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>

#include "system/calls.hpp"

namespace holdfast::proof {

/// Watches as long as it lives.
class Parts : public system::Observer {
 public:
  /// Parts are multiples of `unit`, as a direct write of a disk needs; at least one.
  explicit Parts(std::uint64_t unit = 1) : unit_(unit), before_(system::observe(this)) {}
  ~Parts() override { system::observe(before_); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  int before(const system::Event& event) noexcept override {
    return transfers(event.call) && ++attempts_ % 3 == 0 ? EINTR : 0;
  }
  std::uint64_t most(const system::Event& event) noexcept override {
    const std::uint64_t number = cut_.load();
    const std::uint64_t sizes[] = {1, 511, event.bytes / 2, 4096, event.bytes - event.bytes / 8, 60'001};
    const std::uint64_t part = std::max(unit_, sizes[number % std::size(sizes)] / unit_ * unit_);
    if (part >= event.bytes) return event.bytes;
    ++cut_;
    return part;
  }
  /// Transfers that were cut short until now. Where there are none a test has shown nothing.
  std::uint64_t cut() const { return cut_; }

  static bool transfers(system::Call call) {
    using system::Call;
    return call == Call::read || call == Call::pread || call == Call::pwrite || call == Call::recv ||
           call == Call::send || call == Call::sendmsg;
  }

 private:
  const std::uint64_t unit_;
  system::Observer* const before_;
  std::atomic<std::uint64_t> attempts_ = 0, cut_ = 0;
};

}  // namespace holdfast::proof
