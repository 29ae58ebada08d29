// log_test.hpp: a folder for a test's pools on each medium that every machine has.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace holdfast::test {

class OnMedium : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string name = std::string(GetParam()) + "/holdfast-log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder + "/a.hold";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string folder, path;
};

inline std::string medium_name(const testing::TestParamInfo<const char*>& info) {
  return std::string(info.param) == "/dev/shm" ? "shm" : "file";
}

}  // namespace holdfast::test
