// foreign_test.cpp: files that are no pools, and paths that are no files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "support/exercise.hpp"
#include "support/random.hpp"

namespace holdfast::test::corrupt {
namespace {

namespace fs = std::filesystem;

TEST(Corrupt, ForeignFiles) {
  std::vector<std::string> files{"", "\n", "HOLDFAST", std::string(8192, '\0'), std::string(65536, '\xff')};
  files.push_back(std::string("HOLDFAST") + std::string(65536, '\x01'));
  files.push_back(read_file("/proc/self/exe").substr(0, 65536));
  files.push_back(read_file("/proc/cpuinfo"));
  Random random(5);
  std::string noise(65536, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.next());
  files.push_back(noise);
  expect_sound(
      "foreign_files", files.size(),
      [&](std::uint64_t i) {
        Outcome outcome = outcome_of(files[i], nullptr);
        if (outcome.opened) outcome.wrong += "opened";
        return outcome;
      },
      [&](std::uint64_t i) { return "foreign file " + std::to_string(i); });
}

TEST(Corrupt, PathsThatAreNoFiles) {
  const std::string path = pool_path() + "-odd";
  const auto refused = [&](const std::string& what) {
    expect_sound(
        "odd_paths", 1,
        [&](std::uint64_t) {
          Exercised result = exercise(path);
          if (result.opened) result.wrong += "opened";
          return Outcome{result.opened, result.damage_reported, result.wrong};
        },
        [&](std::uint64_t) { return what; });
  };
  refused("nothing there");
  fs::create_directory(path);
  refused("a directory");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  refused("a FIFO");
  fs::remove(path);
  for (const char* target : {"/dev/zero", "/dev/null", "/proc/self/mem", "/nowhere", "."}) {
    fs::create_symlink(target, path);
    refused(std::string("a link to ") + target);
    fs::remove(path);
  }
  fs::create_symlink(path, path);
  refused("a link to itself");
  fs::remove(path);
}

TEST(Corrupt, SymbolicLinkToAPoolOpens) {
  const std::string path = pool_path() + "-link";
  write_file(path + "-target", images()[0].bytes);
  fs::create_symlink(path + "-target", path);
  EXPECT_EQ(exercise(path, &images()[0].items).wrong, "");
  fs::remove(path);
  fs::remove(path + "-target");
}

TEST(Corrupt, PoolsAreReadableByTheirOwnerAlone) {
  const std::string path = pool_path() + "-mode";
  const mode_t before = umask(0);
  Table::create(path, {.shape = {.capacity = 16}, .runtime = {.device = "cpu"}, .overwrite = true}).close();
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  fs::remove(path);
}

}  // namespace
}  // namespace holdfast::test::corrupt
