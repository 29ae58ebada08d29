// boot_test.cpp: which run of the machine this is may not be readable; then no pool is taken for one of this run.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "holdfast/table.hpp"
#include "proof/recorder.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

class NoBootId : public system::Observer {
 public:
  int before(const Event& event) noexcept override {
    return event.path != nullptr && std::strstr(event.path, "boot_id") != nullptr ? EACCES : 0;
  }
};

TEST(Boot, AnUnknownRunIsNotEqualToAnother) {
  const test::Folder folder;
  const std::string path = folder / "a.hold", killed = folder / "b.hold";
  NoBootId unknown;
  const Watch watch(unknown);
  CreateOptions options;
  options.shape.capacity = 8;
  options.runtime.device = "cpu";
  {
    Table table = Table::create(path, options);
    const std::uint64_t key = 7;
    table.insert(&key, &key, 1);
    std::filesystem::copy_file(path, killed);
  }
  EXPECT_NO_THROW(Table::open(path)) << "clean ones open anywhere";
  EXPECT_FALSE(inspect(killed).objects.at(0).same_boot);
  EXPECT_THROW(Table::open(killed), PowerLost);
}

}  // namespace
}  // namespace holdfast::proof
