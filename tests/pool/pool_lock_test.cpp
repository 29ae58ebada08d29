// pool_lock_test.cpp: one process writes, or several read; the lock dies with its owner, and a forked child has no part in it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/random.hpp"
#include "pool/medium/owner.hpp"
#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

/// For what must come true, however busy the machine is.
std::chrono::steady_clock::time_point minutes_from_now() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(10);
}

/// A child process that runs `body`, says that it is ready, and waits to be killed, or does something else.
class Holder {
 public:
  explicit Holder(
      const std::function<void()>& body, void (*then)() = [] { static_cast<void>(pause()); }) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      try {
        body();
        if (write(ends[1], "r", 1) != 1) _exit(2);
        then();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "holder: %s\n", error.what());
      }
      _exit(1);
    }
    close(ends[1]);
    char ready = 0;
    ready_ = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
  }
  ~Holder() { end(); }

  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }
  void kill_only() const { kill(pid_, SIGKILL); }
  void end() {
    if (pid_ <= 0) return;
    kill_only();
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  bool ready_ = false;
};

class PoolLock : public testing::Test {
 protected:
  Folder folder{"/dev/shm"};
  std::string path = folder / "a.hold";
  std::unique_ptr<TableObject> held;  // by a child, which never destroys it

  Holder holding(Access access) {
    return Holder([this, access] { held = open(path, access); });
  }
};

TEST_F(PoolLock, ASecondWriterIsToldWhoHasIt) {
  create_closed(path);
  const Holder holder = holding(Access::read_write);
  ASSERT_TRUE(holder.ready());
  const std::string owner = path + " is open for writing by process " + std::to_string(holder.pid()) + " (test_pool";
  for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
    expect_error<PoolInUse>([&] { open(path, access); }, owner);
  }
  expect_error<PoolInUse>([&] { create(path, small_shape(), true); }, owner);
  EXPECT_THROW(create(path), PoolExists);
  EXPECT_NE(inspect(path).owner.find("process " + std::to_string(holder.pid()) + " (test_pool"), std::string::npos);
  EXPECT_NE(inspect(path).owner.find("since "), std::string::npos);
}

TEST_F(PoolLock, TheSameProcessIsASecondWriterToo) {
  const auto pool = create(path);
  for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
    expect_error<ObjectInUse>([&] { open(path, access); }, path + " is open for writing in this process");
  }
  expect_error<ObjectInUse>([&] { create(path, small_shape(), true); }, "close it first");
}

TEST_F(PoolLock, AReaderOfTheSameProcessKeepsWritersOut) {
  create_closed(path);
  const auto reader = open(path, Access::read_only);
  EXPECT_NE(open(path, Access::read_only), nullptr);
  expect_error<ObjectInUse>([&] { open(path); }, path + " is open for reading in this process");
  expect_error<ObjectInUse>([&] { create(path, small_shape(), true); }, "mode=\"r\"");
}

TEST_F(PoolLock, ReadersShareAndKeepWritersOut) {
  create_closed(path);
  const Holder one = holding(Access::read_only), two = holding(Access::scratch);
  ASSERT_TRUE(one.ready() && two.ready());
  EXPECT_NE(open(path, Access::read_only), nullptr);
  expect_error<PoolInUse>([&] { open(path); }, "is open for reading by ");
  expect_error<PoolInUse>([&] { create(path, small_shape(), true); }, "mode=\"r\"");
  EXPECT_EQ(inspect(path).owner, "");
}

TEST_F(PoolLock, ClosingEndsIt) {
  create(path);
  EXPECT_EQ(inspect(path).owner, "");
  EXPECT_EQ(in_child([&] { return open(path)->was_clean() ? 0 : 1; }), 0);
}

TEST_F(PoolLock, AKilledOwnerLetsGoAtOnce) {
  create_closed(path);
  for (int round = 0; round < 50; ++round) {
    Holder holder([&] {
      held = open(path);
      held->mark_changed();
      held->level(8)[7].key = static_cast<std::uint64_t>(round) + 1;
    });
    ASSERT_TRUE(holder.ready());
    holder.kill_only();  // and not waited for: it may still be dying
    const auto pool = open(path);
    EXPECT_FALSE(pool->was_clean());
    EXPECT_EQ(pool->level(8)[7].key, static_cast<std::uint64_t>(round) + 1);
    EXPECT_EQ(system::life_of(system::process_at(holder.pid())), system::Life::gone)
        << "it had wholly exited before the pool was given out";
    pool->sync();
  }
}

TEST_F(PoolLock, AKilledReaderLetsGoAtOnce) {
  create_closed(path);
  for (int round = 0; round < 20; ++round) {
    Holder holder = holding(Access::read_only);
    ASSERT_TRUE(holder.ready());
    holder.kill_only();
    EXPECT_NE(open(path), nullptr);
  }
}

TEST_F(PoolLock, AnOwnerThatIsKilledWhileAnotherWaitsIsWaitedFor) {
  create_closed(path);
  // A process with much memory to give back is dying for a while.
  Holder holder([&] {
    held = open(path);
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory");
    std::memset(memory, 1, kBytes);
  });
  ASSERT_TRUE(holder.ready());
  holder.kill_only();
  EXPECT_NE(open(path), nullptr);
  EXPECT_EQ(system::life_of(system::process_at(holder.pid())), system::Life::gone);
}

TEST_F(PoolLock, TheNoteOfADeadOwnerNamesNobody) {
  create_closed(path);
  {
    Holder holder = holding(Access::read_write);
    ASSERT_TRUE(holder.ready());
    holder.end();
  }
  EXPECT_EQ(inspect(path).owner, "");
}

TEST_F(PoolLock, ACopyOfAnOpenPoolHasNoOwner) {
  const auto pool = create(path);
  std::filesystem::copy_file(path, folder / "copy.hold");
  EXPECT_NE(inspect(path).owner, "");
  EXPECT_EQ(inspect(folder / "copy.hold").owner, "");
  EXPECT_NE(open(folder / "copy.hold"), nullptr);
}

TEST_F(PoolLock, ANoteThatLiesIsNoNote) {
  create_closed(path);
  std::vector<char> bytes = read_all(path);
  std::memset(bytes.data() + kOwnerOffset, 0xff, sizeof(OwnerNote));
  write_all(path, bytes);
  EXPECT_EQ(inspect(path).owner, "");
  EXPECT_NE(open(path), nullptr);
  // One with a right checksum and terminal codes in it.
  OwnerNote note = make_note(system::File::open(path, false).facts());
  std::memset(note.command, '\033', sizeof note.command);
  note.checksum = 0;
  EXPECT_EQ(describe(note).find('\033'), std::string::npos);
}

TEST_F(PoolLock, AnOwnerThatRunsAnotherProgramHasReleasedIt) {
  create_closed(path);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    held = open(path);
    execlp("sleep", "sleep", "10000", nullptr);
    _exit(1);
  }
  close(ends[1]);
  char none = 0;
  ASSERT_EQ(read(ends[0], &none, 1), 0);  // ends when the child executes
  close(ends[0]);
  // The descriptors go one by one, the pool's perhaps after the pipe's: it may be in use for a moment yet.
  std::unique_ptr<TableObject> pool;
  for (const auto deadline = minutes_from_now(); pool == nullptr && std::chrono::steady_clock::now() < deadline;) {
    try {
      pool = open(path);
    } catch (const PoolInUse&) {
    }
  }
  EXPECT_NE(pool, nullptr);
  EXPECT_EQ(system::life_of(system::process_at(child)), system::Life::alive);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

/// As a child that it forked could do: a lock belongs to all copies of a descriptor. Their mappings would keep it.
void lose_descriptors(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) != path) continue;
    const int fd = std::stoi(entry.path().filename());
    flock(fd, LOCK_UN);
    close(fd);
  }
}

TEST_F(PoolLock, AnOwnerThatIsStillExitingIsWaitedForAfterItsLock) {
  create_closed(path);
  const Holder holder(
      [&] {
        held = open(path);
        lose_descriptors(path);
        std::thread([] {
          std::this_thread::sleep_for(std::chrono::seconds(1));
          _exit(0);
        }).detach();
      },
      [] { syscall(SYS_exit, 0); });  // of its first thread
  ASSERT_TRUE(holder.ready());
  const auto limit = minutes_from_now();
  while (system::life_of(system::process_at(holder.pid())) == system::Life::alive &&
         std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_NE(open(path), nullptr);
  EXPECT_EQ(system::life_of(system::process_at(holder.pid())), system::Life::gone);
}

TEST_F(PoolLock, AnOwnerThatLostItsDescriptorsStillHasIt) {
  create_closed(path);
  const Holder holder([&] {
    held = open(path);
    lose_descriptors(path);
  });
  ASSERT_TRUE(holder.ready());
  expect_error<PoolInUse>([&] { open(path); }, "process " + std::to_string(holder.pid()));
}

TEST_F(PoolLock, AForkedChildHasNothingOfIt) {
  auto pool = create(path);
  pool->mark_changed();
  EXPECT_EQ(in_child([&] {
              if (!pool->forked()) return 1;
              std::ifstream maps("/proc/self/maps");
              for (std::string line; std::getline(maps, line);) {
                if (line.find(path) != std::string::npos) return 2;
              }
              expect_error<ObjectClosed>([&] { pool->sync(); }, "forked");
              expect_error<ObjectClosed>([&] { pool->add_level(9); }, "forked");
              if (testing::Test::HasFailure()) return 3;
              expect_error<PoolInUse>([&] { open(path); }, "process " + std::to_string(getppid()));
              pool.reset();  // closing it there does nothing here
              return testing::Test::HasFailure() ? 4 : 0;
            }),
            0);
  EXPECT_FALSE(pool->forked());
  EXPECT_NE(inspect(path).owner, "");
  EXPECT_THROW(open(path), ObjectInUse);
  pool->level(8)[0].key = 1;
  pool->add_level(9);
}

TEST_F(PoolLock, AForkedChildDoesNotKeepTheLock) {
  create_closed(path);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Holder holder([&] {
    held = open(path);
    int forked[2];
    if (pipe(forked) != 0) throw std::runtime_error("no pipe");
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      close(ends[1]);
      char none = 0;
      if (write(forked[1], "f", 1) != 1) _exit(2);
      _exit(read(ends[0], &none, 1) == 0 ? 0 : 1);  // lives until the test ends
    }
    char done = 0;
    if (read(forked[0], &done, 1) != 1) throw std::runtime_error("no grandchild");
  });
  ASSERT_TRUE(holder.ready());
  EXPECT_THROW(open(path), PoolInUse);
  holder.end();
  EXPECT_NE(open(path), nullptr);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(PoolLock, ForksAndPoolsOfSeveralThreadsDoNotHinderEachOther) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const std::string mine = folder / ("thread" + std::to_string(i));
      while (!stop) {
        create(mine, small_shape(), true)->sync();
        open(mine)->sync();
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(in_child([] { return 0; }), 0);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PoolLock, AReplacedPoolIsOpenedAnew) {
  // One thread replaces the pool again and again: whoever opens gets a whole one, by its name.
  create_closed(path);
  std::atomic<bool> stop = false;
  std::thread replacer([&] {
    Random random(3);
    while (!stop) {
      try {
        create(path, small_shape(), true)->sync();
      } catch (const ObjectInUse&) {
      } catch (const PoolInUse&) {
      }
      // Most of the time nobody has it, wherever a busy machine takes this thread off its core.
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
    }
  });
  const auto deadline = minutes_from_now();
  unsigned opened = 0;
  for (int i = 0; i < 300 || (opened < 3 && std::chrono::steady_clock::now() < deadline); ++i) {
    try {
      const auto pool = open(path, Access::read_only);
      EXPECT_EQ(pool->shape().seed, 42u);
      ++opened;
    } catch (const ObjectInUse&) {
    } catch (const PoolInUse&) {  // was replaced a hundred times
    } catch (const ReadOnly&) {
    }
  }
  stop = true;
  replacer.join();
  EXPECT_GE(opened, 3u);
}

}  // namespace
}  // namespace holdfast::pool
