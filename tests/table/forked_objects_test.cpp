// forked_objects_test.cpp: a child that is forked while other threads use an object: its calls say whose it is, and none waits
// for a thread or a lock of the parent's.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../pool/pool_test.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/region.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"

namespace holdfast {
namespace {

constexpr int kForks = 50;

template <class Use>
bool is_refused(const Use& use) {
  return test::error_of<ObjectClosed>(use).find("parent") != std::string::npos;
}

/// True if `works` is, in a child.
bool holds_in_child(const std::function<bool()>& works) {
  const int status = test::in_child([&] { return works() ? 0 : 1; });
  EXPECT_LE(status, 1) << "a child did not end by itself";
  return status == 0;
}

/// Does one thing again and again beside the test.
class Beside {
 public:
  explicit Beside(const std::function<void()>& use)
      : thread_([this, use] {
          while (!over_.load(std::memory_order_relaxed)) use();
        }) {}
  ~Beside() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

struct ForkedObjects : ::testing::Test {
  pool::Folder folder{"/dev/shm"};
  Pool pool = Pool::create(folder / "a.hold");
};

TEST_F(ForkedObjects, ACheckpointOfTheParentEndsAtOnce) {
  Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 3});
  const std::vector<std::uint64_t> data(100'000, 7);
  const TensorView tensors[] = {{"x", ElementType::u64, {data.size()}, data.data()}};
  checkpoint.save(1, tensors).wait();  // its thread waits for the next
  SavedState state = checkpoint.restore();
  const Beside beside([&] { static_cast<void>(checkpoint.is_open()); });
  for (int i = 0; i < kForks; ++i) {
    ASSERT_TRUE(holds_in_child([&] {
      if (checkpoint.is_open() || !is_refused([&] { checkpoint.save(2, tensors); })) return false;
      checkpoint.close();
      { const SavedState last = std::move(state); }
      { const Checkpoint last = std::move(checkpoint); }
      return true;
    })) << "fork "
        << i;
  }
  checkpoint.save(2, tensors).wait();
  EXPECT_EQ(checkpoint.restore().step, 2u);
}

TEST_F(ForkedObjects, AStateThatOutlivesItsCheckpointEndsAtOnce) {
  SavedState state;
  {
    Checkpoint checkpoint = Checkpoint::create(pool, "model");
    const std::uint64_t word = 7;
    const TensorView tensors[] = {{"x", ElementType::u64, {1}, &word}};
    checkpoint.save(1, tensors).wait();
    state = checkpoint.restore();
  }
  EXPECT_TRUE(holds_in_child([&] {
    const SavedState last = std::move(state);
    return true;
  }));
}

TEST_F(ForkedObjects, ATicketOfTheParentIsDoneOrRefused) {
  Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 2});
  const std::vector<std::uint64_t> data(1'000'000, 7);
  const TensorView tensors[] = {{"x", ElementType::u64, {data.size()}, data.data()}};
  int refused = 0;
  for (std::uint64_t step = 1; step <= kForks && !HasFailure(); ++step) {
    const SaveTicket ticket = checkpoint.save(step, tensors);
    const auto waits = [&] { return is_refused([&] { ticket.wait(); }); };
    const auto ends = [&] {
      ticket.wait();
      return true;
    };
    if (holds_in_child(waits)) {
      ++refused;
    } else {
      ticket.wait();
      EXPECT_TRUE(holds_in_child(ends)) << "it was done before";
    }
    ticket.wait();
  }
  EXPECT_GT(refused, 0) << "no fork was in a save";
}

TEST_F(ForkedObjects, ARegionOfTheParentEndsAtOnce) {
  Region region = Region::create(pool, "sums", 1 << 16);
  const Beside beside([&] { region.section().end(); });
  for (int i = 0; i < kForks; ++i) {
    ASSERT_TRUE(holds_in_child([&] {
      if (region.is_open() || !is_refused([&] { region.section(); }) || !is_refused([&] { region.bytes(); }))
        return false;
      region.close();
      { const Region last = std::move(region); }
      return true;
    })) << "fork "
        << i;
  }
  EXPECT_TRUE(region.is_open());
}

}  // namespace
}  // namespace holdfast
