// log_test.hpp: a folder for a test's pools on each medium that every machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/folder.hpp"

namespace holdfast::test {

class OnMedium : public testing::TestWithParam<const char*> {
 protected:
  const Folder folder{GetParam()};
  const std::string path = folder / "a.hold";
};

inline std::string medium_name(const testing::TestParamInfo<const char*>& info) {
  return std::string(info.param) == "/dev/shm" ? "shm" : "file";
}

}  // namespace holdfast::test
