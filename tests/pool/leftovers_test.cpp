// leftovers_test.cpp: temporary files of killed processes go with the next opening; those of living ones stay.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "pool_test.hpp"
#include "system/named_file.hpp"

namespace holdfast::pool {
namespace {

/// A temporary file whose name stays.
system::File make_leftover(const std::string& path) {
  system::TemporaryName name;
  system::File file = system::make_temporary(path, name);
  name.path.clear();
  return file;
}

class Leftovers : public testing::TestWithParam<const char*> {
 protected:
  Folder folder{GetParam()};
  std::string path = folder / "a.hold";

  /// The files beside the pool, sorted.
  std::vector<std::string> beside() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path() != path) names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// What a process leaves that is killed while it makes the pool.
  void leave_one() {
    const pid_t child = fork();
    if (child == 0) {
      const system::File file = make_leftover(path);
      file.allocate(0, 100'000);
      raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
    ASSERT_EQ(beside().size(), 1u);
    EXPECT_EQ(beside()[0].rfind("a.hold.tmp-" + std::to_string(child), 0), 0u) << beside()[0];
  }
};
INSTANTIATE_TEST_SUITE_P(Media, Leftovers, testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param) == "/tmp" ? "file" : "shm"; });

TEST_P(Leftovers, GoWithTheNextCreation) {
  leave_one();
  create(path);
  EXPECT_TRUE(beside().empty());
  leave_one();
  EXPECT_THROW(create(path), PoolExists);
  EXPECT_EQ(beside().size(), 1u) << "what changes nothing tidies nothing";
  create(path, small_shape(), true);
  EXPECT_TRUE(beside().empty());
}

TEST_P(Leftovers, GoWithTheNextOpeningForWriting) {
  create_closed(path);
  leave_one();
  open(path, Access::read_only);
  open(path, Access::scratch);
  EXPECT_EQ(beside().size(), 1u);
  open(path);
  EXPECT_TRUE(beside().empty());
  // The pool's own name counts, not that of a link to it.
  const Folder other(GetParam());
  std::filesystem::create_symlink(path, other / "link");
  leave_one();
  open(other / "link");
  EXPECT_TRUE(beside().empty());
}

TEST_P(Leftovers, OfTheLivingStay) {
  create_closed(path);
  const system::File mine = make_leftover(path);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const system::File file = make_leftover(path);
    if (write(ends[1], "r", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char ready = 0;
  ASSERT_EQ(read(ends[0], &ready, 1), 1);
  open(path);
  create(path, small_shape(), true);
  EXPECT_EQ(beside().size(), 2u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  open(path);
  ASSERT_EQ(beside().size(), 1u);
  EXPECT_EQ(folder / beside()[0], mine.path());
}

TEST_P(Leftovers, AreToldFromOtherFiles) {
  create_closed(path);
  for (const char* const name : {"a.hold.tmp-", "a.hold.tmp-x", "a.hold.tmp-1x", "a.hold.tmp-1-", "a.hold.tmp-1-2-3",
                                 "a.hold.tmp", "b.hold.tmp-7", "aa.hold.tmp-7", "a.hold.tmp-7.csv"}) {
    std::ofstream(folder / name) << "mine";
  }
  std::filesystem::create_directory(folder / "a.hold.tmp-8");
  std::filesystem::create_symlink("b.hold.tmp-7", folder / "a.hold.tmp-9");
  const auto before = beside();
  std::ofstream(folder / "a.hold.tmp-7") << "left";
  std::ofstream(folder / "a.hold.tmp-7-3") << "left";
  open(path);
  EXPECT_EQ(beside(), before);
}

TEST_P(Leftovers, AreLookedForWhileOthersMakeThem) {
  std::atomic<bool> stop = false;
  std::thread tidy([&] {
    while (!stop) system::remove_leftovers(path);
  });
  for (int i = 0; i < 300; ++i) {
    const system::File file = make_leftover(path);
    const system::TemporaryName temporary{file.path()};
    EXPECT_EQ(file.facts().links, 1u);
    std::this_thread::yield();
    EXPECT_EQ(file.facts().links, 1u);
  }
  for (int i = 0; i < 30; ++i) EXPECT_NO_THROW(create(path, small_shape(), true));
  stop = true;
  tidy.join();
}

}  // namespace
}  // namespace holdfast::pool
