// checkpoint_shortage_test.cpp: every allocation of a checkpoint's calls fails once, and no further thread starts. The state before
// stands, tickets and `close` return, and the checkpoint works on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/blocks.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/log.hpp"
#include "holdfast/region.hpp"
#include "holdfast/table.hpp"
#include "minimum.hpp"
#include "proof/recorder.hpp"
#include "shortage.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr unsigned kSeconds = 30;  // before a test that hangs is killed

/// The state of a step: `words` words that follow from it, one tensor each for the first two.
struct State {
  State(std::uint64_t of_step, std::size_t words) : step(of_step), data(words) {
    for (std::size_t i = 0; i < words; ++i) data[i] = step * 1'000'003 + i;
  }
  std::vector<TensorView> tensors() const {
    return {{"a", ElementType::u64, {}, data.data()},
            {"b", ElementType::u64, {}, &data[1]},
            {"rest", ElementType::u64, {data.size() - 2}, &data[2]}};
  }
  std::uint64_t step;
  std::vector<std::uint64_t> data;
};

/// What is wrong with a state that was restored; empty: nothing.
std::string flaw_of(const SavedState& found) {
  if (found.tensors.size() != 3) return "it has " + std::to_string(found.tensors.size()) + " tensors";
  const State wanted(found.step, 2 + found.tensors[2].bytes / 8);
  const auto expected = wanted.tensors();
  for (std::size_t i = 0; i < 3; ++i) {
    if (found.tensors[i].name != expected[i].name) return "its tensors have other names";
    if (std::memcmp(found.tensors[i].data, expected[i].data, found.tensors[i].bytes) != 0) return "a tensor is wrong";
  }
  return {};
}

class CheckpointShortages : public testing::Test {
 protected:
  static constexpr std::size_t kWords = 1000;
  void SetUp() override { alarm(kSeconds); }
  void TearDown() override { alarm(0); }
  std::string path() const { return root_ / "a.hold"; }

  /// A checkpoint with saves 1 and 2.
  void make() {
    checkpoint_.reset();
    pool_.reset();
    pool_.emplace(Pool::create(path(), true));
    checkpoint_.emplace(Checkpoint::create(*pool_, "model"));
    for (std::uint64_t step = 1; step <= 2; ++step) save(step);
  }
  void save(std::uint64_t step) {
    const State state(step, kWords);
    checkpoint_->save(step, state.tensors()).wait();
  }

  /// Nothing but `newest` or a later state is given, the checkpoint saves on, here and in another opening.
  void expect_works(std::uint64_t newest, const std::string& where) {
    {
      const SavedState found = checkpoint_->restore();
      EXPECT_GE(found.step, newest) << where;
      EXPECT_EQ(flaw_of(found), "") << where;
      EXPECT_TRUE(found.damage.empty()) << where;
    }
    save(100);
    save(101);
    EXPECT_EQ(checkpoint_->restore().step, 101u) << where;
    checkpoint_->close();
    checkpoint_.emplace(Checkpoint::open(*pool_, "model"));
    EXPECT_EQ(flaw_of(checkpoint_->restore()), "") << where;
    EXPECT_EQ(checkpoint_->restore().step, 101u) << where;
  }

  /// Fails each allocation of `act`, which ends where `act` needs no more. Counts them.
  void fail_each(const std::string& name, std::uint64_t newest, const std::function<void()>& act) {
    std::int64_t at = 0;
    for (bool met = true; met && !HasFailure(); ++at) {
      make();
      {
        const Shortage shortage(at);
        try {
          act();
        } catch (const std::bad_alloc&) {
        } catch (const Error&) {
        }
        met = shortage.met();
      }
      expect_works(newest, name + ", allocation " + std::to_string(at));
    }
    expect_no_fewer(name, at - 1);
  }

  std::optional<Pool> pool_;
  std::optional<Checkpoint> checkpoint_;

 private:
  const test::Folder root_;
};

TEST_F(CheckpointShortages, ASaveIsWholeOrTheStateBeforeStands) {
  const State state(3, kWords);
  fail_each("save", 2, [&] { checkpoint_->save(3, state.tensors(), "text").wait(); });
}

/// The copy gets another extent for it; and others are saved behind it, while it may be under way.
TEST_F(CheckpointShortages, SavesThatGrowAndFollowEachOther) {
  const State large(3, 40 * kWords), next(4, 41 * kWords);
  fail_each("save_growing", 2, [&] {
    const SaveTicket first = checkpoint_->save(3, large.tensors());
    const SaveTicket second = checkpoint_->save(4, next.tensors());
    checkpoint_->wait();
    EXPECT_TRUE(first.is_done() && second.is_done());
    first.wait();
    second.wait();
  });
}

TEST_F(CheckpointShortages, AGroupIsSavedOrNot) {
  const State state(3, kWords);
  fail_each("save_group", 2, [&] { checkpoint_->save(3, checkpoint_->group(state.tensors())).wait(); });
}

/// The first save of an opening starts the thread.
TEST_F(CheckpointShortages, AnOpeningAndItsFirstSave) {
  const State state(3, kWords);
  fail_each("open_checkpoint", 2, [&] {
    const auto reopen = [&] {
      checkpoint_->close();
      for (;;) {  // ends: one allocation fails
        try {
          checkpoint_.emplace(Checkpoint::open(*pool_, "model"));
          return;
        } catch (const std::bad_alloc&) {
        }
      }
    };
    reopen();
    try {
      checkpoint_->save(3, state.tensors());
    } catch (const std::bad_alloc&) {
    }
    reopen();
  });
}

TEST_F(CheckpointShortages, ReadingHoldsNothingBack) {
  std::uint64_t a = 0, b = 0;
  const std::vector<TensorView> into{{"b", ElementType::u64, {}, &b}, {"a", ElementType::u64, {}, &a}};
  fail_each("restore", 2, [&] {
    for (const SavedCopy& copy : checkpoint_->list()) {
      EXPECT_EQ(flaw_of(checkpoint_->restore(nullptr, copy.sequence)), "");
    }
    checkpoint_->restore_into(into);
    EXPECT_EQ(a, 2u * 1'000'003);
    EXPECT_EQ(b, a + 1);
  });
}

/// Whoever is told that nothing was made finds nothing; else the object is open.
TEST_F(CheckpointShortages, AnObjectIsMadeOrNot) {
  const auto make_one = [&](const std::string& name) {
    if (name == "table") {
      CreateOptions options;
      options.runtime.device = "cpu";
      pool_->create_table(name, options);
    } else if (name == "region") {
      Region::create(*pool_, name, 64);
    } else if (name == "log") {
      Log::create(*pool_, name, {.entry_bytes = 8});
    } else {
      Checkpoint::create(*pool_, name);
    }
  };
  for (const std::string name : {"checkpoint", "region", "log", "table"}) {
    bool made = false;
    for (std::int64_t at = 0; !made && !HasFailure(); ++at) {
      make();
      {
        const Shortage shortage(at);
        try {
          make_one(name);
          made = !shortage.met();
        } catch (const std::bad_alloc&) {
          const auto objects = pool_->objects();
          EXPECT_EQ(objects.size(), 1u) << name << ", allocation " << at << ": it failed, and is there";
        }
      }
    }
  }
}

TEST_F(CheckpointShortages, WithoutThreadsASaveIsRefusedAndTheNextOneWorks) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers replace pthread_create themselves";
#endif
  make();
  checkpoint_->close();
  checkpoint_.emplace(Checkpoint::open(*pool_, "model"));
  const State state(3, kWords);
  {
    const ThreadShortage none(0);
    try {
      checkpoint_->save(3, state.tensors());
      ADD_FAILURE() << "no error";
    } catch (const SystemError& error) {
      EXPECT_NE(std::string(error.what()).find("ulimit -u"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path()), std::string::npos) << error.what();
    }
    checkpoint_->wait();
    EXPECT_EQ(checkpoint_->restore().step, 2u);
  }
  expect_works(2, "");
}

/// What several threads would do is done by those that start, whichever does not: for checksums and for verification.
TEST_F(CheckpointShortages, BlocksAreSummedAndVerifiedByTheThreadsThatThereAre) {
  using checkpoint::kBlock;
  const std::uint64_t cores = std::thread::hardware_concurrency();
  const std::uint64_t blocks = 256 * std::clamp<std::uint64_t>(cores, 2, 4), bytes = blocks * kBlock - 24;
  std::vector<std::byte> data(blocks * kBlock);
  for (std::uint64_t block = 0; block < blocks; ++block) data[block * kBlock + 5] = std::byte(block % 251 + 1);
  std::vector<std::uint64_t> expected(blocks), sums(blocks);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    expected[block] = checkpoint::block_checksum(&data[block * kBlock], std::min(kBlock, bytes - block * kBlock));
  }
  const auto sum = [&] {
    std::fill(sums.begin(), sums.end(), 0);
    EXPECT_NO_THROW(checkpoint::sum_blocks(data.data(), bytes, 0, blocks, sums.data()));
    EXPECT_EQ(sums, expected);
  };
  std::vector<std::uint64_t> stored = expected;
  const auto verify = [&] {
    for (const std::uint64_t damaged : {std::uint64_t{0}, blocks / 2 + 1, blocks - 1, blocks}) {
      std::copy(expected.begin(), expected.end(), stored.begin());
      if (damaged != blocks) stored[damaged] ^= 1;
      std::optional<std::uint64_t> found;
      EXPECT_NO_THROW(found = checkpoint::damaged_block(data.data(), bytes, 0, blocks, stored.data()));
      EXPECT_EQ(found.value_or(blocks), damaged);
    }
  };
  for (const auto& act : std::vector<std::function<void()>>{sum, verify}) {
    bool met = true;
    for (std::int64_t at = 0; met && !HasFailure(); ++at) {
      const Shortage shortage(at);
      act();
      met = shortage.met();
    }
    met = cores > 1;
    for (std::int64_t at = 0; met && !HasFailure(); ++at) {
      const ThreadShortage shortage(at);
      act();
      met = shortage.met();
    }
  }
}

/// Fails one kind of call from a moment on.
class Failing : public Pretender {
 public:
  Failing(Call call, int error) : Pretender({.on_disk = true}), call_(call), error_(error) {}
  int before(const Event& event) noexcept override { return on && event.call == call_ ? error_ : 0; }
  std::atomic<bool> on = false;

 private:
  const Call call_;
  const int error_;
};

/// A save whose medium fails is told to whoever waits for it, ends `wait` and `close`, and leaves the state before.
TEST_F(CheckpointShortages, ASaveThatFailsOnItsMediumIsToldAndEnds) {
  for (const bool waited : {true, false}) {
    Failing medium(Call::msync, EIO);
    const Watch watch(medium);
    make();
    const State state(3, kWords), later(4, kWords);
    const SaveTicket kept = checkpoint_->save(2, State(2, kWords).tensors());
    kept.wait();
    medium.on = true;
    std::optional<SaveTicket> ticket;
    EXPECT_THROW(
        {
          ticket = checkpoint_->save(3, state.tensors());
          ticket->wait();
        },
        SystemError);
    checkpoint_->wait();
    EXPECT_EQ(checkpoint_->restore().step, 2u);
    EXPECT_THROW(checkpoint_->save(4, later.tensors()), SystemError) << "its pool has failed";
    medium.on = false;
    EXPECT_THROW(checkpoint_->save(4, later.tensors()), SystemError) << "and stays so until it is opened again";
    if (waited) checkpoint_->wait();
    checkpoint_->close();
    checkpoint_.reset();
    pool_.reset();
    pool_.emplace(Pool::open(path()));
    checkpoint_.emplace(Checkpoint::open(*pool_, "model"));
    expect_works(2, waited ? "waited" : "closed");
    checkpoint_.reset();
    pool_.reset();
  }
}

/// A save that waits for a copy which nobody gives back ends when the checkpoint is closed.
TEST_F(CheckpointShortages, ClosingEndsASaveThatWaitsForACopy) {
  make();
  const State state(3, kWords);
  const SavedState newest = checkpoint_->restore();
  const SavedState older = checkpoint_->restore(nullptr, 1);
  std::atomic<bool> refused = false;
  std::thread waiting([&] {
    try {
      checkpoint_->save(3, state.tensors());
    } catch (const ObjectClosed&) {
      refused = true;
    }
  });
  usleep(20'000);  // it waits by then, or is refused at once
  Checkpoint handle = *checkpoint_;
  handle.close();
  waiting.join();
  EXPECT_TRUE(refused);
  EXPECT_EQ(flaw_of(newest), "");
  EXPECT_EQ(flaw_of(older), "");
}

}  // namespace
}  // namespace holdfast::proof
