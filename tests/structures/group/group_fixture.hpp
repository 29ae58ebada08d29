// group_fixture.hpp: a folder for a test's pools, and numbered keys and values of both sizes.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {

class GroupTables : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/dev/shm/holdfast-group-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder + "/a.hold";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string folder, path;
};

/// A key or a value that stands for a number; of 16 bytes, the second word differs with it.
using Wide = std::array<std::uint64_t, 2>;
inline Wide wide(std::uint64_t number) { return {number, number * 3 + 1}; }

}  // namespace holdfast::test
