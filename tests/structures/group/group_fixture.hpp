// group_fixture.hpp: a folder for a test's pools.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../numbered.hpp"
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

}  // namespace holdfast::test
