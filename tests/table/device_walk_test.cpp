// device_walk_test.cpp: walks for kernels where there is no kernel to walk for (tests/cuda has the others).
#include "holdfast/device_walk.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "holdfast/table.hpp"
#include "support/errors.hpp"

namespace holdfast::test {
namespace {

TEST(DeviceWalk, NeedsAGpu) {
  const std::string path = "/dev/shm/holdfast-walk-" + std::to_string(getpid()) + ".hold";
  CreateOptions options;
  options.shape.capacity = 1000;
  options.runtime.device = "cpu";
  options.overwrite = true;
  Table table = Table::create(path, options);
  WalkPlan plan;
  for (const auto purpose : {WalkPlan::Purpose::count, WalkPlan::Purpose::give, WalkPlan::Purpose::erase}) {
    plan.purpose = purpose;
    expect_error<InvalidArgument>([&] { const DeviceWalk walk(table, nullptr, plan); }, "device=\"cuda\"");
  }
  const std::uint64_t key = 1, value = 2;
  EXPECT_EQ(table.insert(&key, &value, 1).of(Status::inserted), 1u);  // nobody is kept out
  table.close();
  EXPECT_THROW(DeviceWalk(table, nullptr, plan), ObjectClosed);
  unlink(path.c_str());
}

}  // namespace
}  // namespace holdfast::test
