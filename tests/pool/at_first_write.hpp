// at_first_write.hpp: something that happens while a pool's bytes are copied.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <utility>

#include "system/calls.hpp"

namespace holdfast::test {

/// While it lives, calls `act` before the first write to a file, in the thread that writes. A copy that writes nothing fails the test.
class AtFirstWrite : public system::Observer {
 public:
  explicit AtFirstWrite(std::function<void()> act) : act_(std::move(act)), before_(system::observe(this)) {}
  ~AtFirstWrite() override {
    system::observe(before_);
    EXPECT_TRUE(done_) << "nothing was written";
  }
  AtFirstWrite(const AtFirstWrite&) = delete;
  AtFirstWrite& operator=(const AtFirstWrite&) = delete;
  int before(const system::Event& event) noexcept override {
    if (event.call == system::Call::pwrite && !done_.exchange(true)) act_();
    return 0;
  }

 private:
  const std::function<void()> act_;
  std::atomic<bool> done_ = false;
  system::Observer* const before_;
};

}  // namespace holdfast::test
