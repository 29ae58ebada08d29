// checkpoint_test.cpp: saves and restores through the public interface: order, damage, shortage, bad input, kills.
#include "holdfast/checkpoint.hpp"

#include <algorithm>
#include <csignal>

#include "../pool/pool_test.hpp"
#include "holdfast/table.hpp"
#include "pool/pool_image.hpp"

namespace holdfast {
namespace {

using pool::expect_error;
using pool::Folder;

std::vector<std::uint64_t> filled(std::uint64_t step, std::size_t words = 40'000) {
  std::vector<std::uint64_t> data(words);
  for (std::size_t i = 0; i < words; ++i) data[i] = step * 1'000'003 + i;
  return data;
}

SaveTicket save(Checkpoint& checkpoint, std::uint64_t step, bool wait = true, std::size_t words = 40'000) {
  const auto data = filled(step, words);
  const std::uint8_t odd[3] = {1, 2, static_cast<std::uint8_t>(step)};
  const TensorView tensors[] = {{"weights", ElementType::u64, {words / 10, 10}, data.data()},
                                {"odd", ElementType::u8, {3}, odd},
                                {"none", ElementType::f32, {0, 4}, nullptr},
                                {"one", ElementType::u64, {}, data.data()}};
  return checkpoint.save(step, tensors, "step " + std::to_string(step), {.wait = wait});
}

/// What is wrong with a state; empty: it is that of its step.
std::string flaw(const SavedState& state, std::size_t words = 40'000) {
  const auto data = filled(state.step, words);
  if (state.tensors.size() != 4 || state.text != "step " + std::to_string(state.step)) return "catalogue";
  if (std::memcmp(state.tensors[0].data, data.data(), words * 8) != 0) return "weights";
  if (state.tensors[1].data[2] != std::byte(state.step)) return "odd";
  return state.tensors[2].bytes == 0 && std::memcmp(state.tensors[3].data, data.data(), 8) == 0 ? "" : "one";
}

struct CheckpointTest : ::testing::Test {
  Folder folder{"/dev/shm"};
  std::string path = folder / "a.hold";

  std::uint64_t offset_of(unsigned copy) {
    return pool::read_pool(system::File::open(path, false)).directory.extents_of(1, 1).at(copy).offset;
  }
  void flip(std::uint64_t offset) {
    auto bytes = pool::read_all(path);
    bytes[offset] ^= 4;
    pool::write_all(path, bytes);
  }
};

TEST_F(CheckpointTest, RestoresTheNewestInAnotherProcess) {
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 3});
    expect_error<ObjectNotFound>([&] { checkpoint.restore(); }, "no saved state");
    for (std::uint64_t step = 1; step <= 7; ++step) save(checkpoint, step).wait();
    EXPECT_EQ(flaw(checkpoint.restore()), "");
  }
  Pool pool = Pool::open(path, {.read_only = true});
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  const SavedState state = checkpoint.restore();
  EXPECT_EQ(state.step, 7u);
  EXPECT_EQ(flaw(state), "");
  EXPECT_TRUE(state.damage.empty());
  EXPECT_EQ(checkpoint.list().size(), 3u);
  expect_error<ReadOnly>([&] { save(checkpoint, 8); }, "reading only");
  EXPECT_EQ(pool.objects().at(0).type, "checkpoint");
  EXPECT_EQ(pool.objects().at(0).damage, "");
}

TEST_F(CheckpointTest, ADamagedCopyGivesWayAndIsReported) {
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model");
    save(checkpoint, 1).wait();
    save(checkpoint, 2).wait();
  }
  for (const std::uint64_t at : {0, 16, 150, 4096, 200'000}) {  // its header, catalogue and data
    flip(offset_of(1) + at);
    Pool pool = Pool::open(path);
    const SavedState state = Checkpoint::open(pool, "model").restore();
    EXPECT_EQ(state.step, 1u) << at;
    EXPECT_EQ(flaw(state), "");
    EXPECT_EQ(state.damage.size(), 1u);
    pool.close();
    flip(offset_of(1) + at);
  }
  flip(offset_of(1) + 4096);
  {
    Pool pool = Pool::open(path);
    Checkpoint checkpoint = Checkpoint::open(pool, "model");
    EXPECT_EQ(checkpoint.restore([](const SavedTensor& t) { return t.name == "one"; }).step, 2u) << "another block";
  }
  flip(offset_of(0) + 4096);
  Pool pool = Pool::open(path);
  expect_error<PoolCorrupt>([&] { Checkpoint::open(pool, "model").restore(); }, "no copy that is whole");
}

TEST_F(CheckpointTest, ADamagedWordIsReportedAndTheNewestCopyFound) {
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model");
    save(checkpoint, 1).wait();
    save(checkpoint, 2).wait();
  }
  const auto pages = pool::read_pool(system::File::open(path, false)).directory.extents_of(1, 0).at(0);
  flip(pages.offset + 2 * 4096);
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  EXPECT_EQ(checkpoint.restore().step, 2u);
  EXPECT_EQ(checkpoint.restore().damage.size(), 1u);
  save(checkpoint, 3).wait();
  EXPECT_EQ(checkpoint.restore().damage.size(), 0u);
}

TEST_F(CheckpointTest, RestoresAnOlderSaveWhereItIsAskedFor) {
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 3});
    for (std::uint64_t step = 1; step <= 4; ++step) save(checkpoint, step).wait();
  }
  flip(offset_of(1) + 4096);  // save 2; save 1 was overwritten
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  const auto all = checkpoint.list();
  ASSERT_EQ(all.size(), 3u);
  expect_error<ObjectNotFound>([&] { checkpoint.restore(nullptr, 1); }, "no save 1 any more");
  expect_error<PoolCorrupt>([&] { checkpoint.restore(nullptr, 2); }, "block 0 is damaged");
  const SavedState held = checkpoint.restore(nullptr, 3);
  EXPECT_EQ(held.step, 3u);
  EXPECT_EQ(held.sequence, 3u);
  EXPECT_EQ(flaw(held), "");
  EXPECT_TRUE(held.damage.empty());
  for (std::uint64_t step = 5; step <= 8; ++step) save(checkpoint, step).wait();
  EXPECT_EQ(flaw(checkpoint.restore(nullptr, 3)), "") << "what is held is not overwritten";
  EXPECT_EQ(checkpoint.restore().step, 8u);
}

TEST_F(CheckpointTest, WaitsOrRefusesWhileAllCopiesAreInUse) {
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  save(checkpoint, 1).wait();
  {
    const SavedState held = checkpoint.restore();
    save(checkpoint, 2).wait();  // to the other copy
    expect_error<ObjectInUse>([&] { save(checkpoint, 3, false); }, "wait for a ticket");
    EXPECT_EQ(flaw(held), "");
  }
  std::vector<SaveTicket> tickets;
  for (std::uint64_t step = 3; step < 40; ++step) tickets.push_back(save(checkpoint, step));
  for (const SaveTicket& ticket : tickets) ticket.wait();
  EXPECT_EQ(checkpoint.restore().step, 39u);
  expect_error<ObjectInUse>([&] { pool.drop("model"); }, "open");
  checkpoint.close();
  expect_error<ObjectClosed>([&] { save(checkpoint, 3); }, "closed");
  pool.drop("model");
}

TEST_F(CheckpointTest, GrowsAndRefusesWhatItCannotHold) {
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  for (std::uint64_t step = 1; step < 9; ++step) {
    save(checkpoint, step, true, step * 30'000).wait();
    EXPECT_EQ(flaw(checkpoint.restore(), step * 30'000), "");
  }
  const std::uint64_t x = 0;
  const TensorView twice[] = {{"a", ElementType::u64, {}, &x}, {"a", ElementType::u64, {}, &x}};
  expect_error<InvalidArgument>([&] { checkpoint.save(1, twice); }, "two tensors");
  const TensorView huge[] = {{"a", ElementType::u64, {~std::uint64_t{0}, 3}, &x}};
  expect_error<InvalidArgument>([&] { checkpoint.save(1, huge); }, "64 TiB");
  const TensorView wide[] = {{"a", ElementType::u64, {std::uint64_t{1} << 42}, &x}};
  expect_error<NoSpace>([&] { checkpoint.save(1, wide); }, "");
  EXPECT_EQ(checkpoint.restore().step, 8u);
  std::uint64_t one = 0;
  const TensorView into[] = {{"one", ElementType::u64, {}, &one}};
  EXPECT_EQ(checkpoint.restore_into(into).step, 8u);
  EXPECT_EQ(one, 8u * 1'000'003);
  const TensorView other[] = {{"one", ElementType::f64, {}, &one}};
  expect_error<PoolMismatch>([&] { checkpoint.restore_into(other); }, "not what was registered");
  const TensorView missing[] = {{"two", ElementType::f64, {}, &one}};
  expect_error<PoolMismatch>([&] { checkpoint.restore_into(missing); }, "no tensor");
  expect_error<InvalidArgument>([&] { Checkpoint::create(pool, "b", {.copies = 9}); }, "2 to 8");
  Table table = pool.create_table("t", {.shape = {.key_bytes = 8, .value_bytes = 8}});
  table.close();
  expect_error<PoolMismatch>([&] { Checkpoint::open(pool, "t"); }, "not a checkpoint");
  EXPECT_TRUE(pool.check().errors.empty());
  checkpoint.close();
  expect_error<PoolMismatch>([&] { pool.table("model"); }, "not a table");
  pool.snapshot(folder / "b.hold");
  Pool copy = Pool::open(folder / "b.hold");
  EXPECT_EQ(flaw(Checkpoint::open(copy, "model").restore(), 240'000), "");
}

TEST_F(CheckpointTest, FillsTensorsByNameInAnyOrderAndInPart) {
  constexpr std::size_t kTensors = 5;
  std::uint64_t from[kTensors], to[kTensors];
  std::vector<TensorView> saved, asked;
  for (std::size_t i = 0; i < kTensors; ++i) {
    from[i] = 100 + i;
    saved.push_back({std::to_string(i), ElementType::u64, {}, from + i});
  }
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  checkpoint.save(1, saved).wait();
  using Order = std::vector<std::size_t>;
  for (const Order& order : {Order{0, 1, 2, 3, 4}, Order{4, 3, 2, 1, 0}, Order{1, 3}, Order{3, 1}, Order{4}, Order{}}) {
    asked.clear();
    for (const std::size_t i : order) asked.push_back({std::to_string(i), ElementType::u64, {}, to + i});
    std::fill(to, to + kTensors, 0);
    const SavedState state = checkpoint.restore_into(asked);
    EXPECT_EQ(state.tensors.size(), order.size());
    for (std::size_t i = 0; i < kTensors; ++i) {
      EXPECT_EQ(to[i], std::count(order.begin(), order.end(), i) != 0 ? 100 + i : 0) << i;
    }
  }
  std::fill(to, to + kTensors, 0);
  asked = {{"0", ElementType::u64, {}, to}, {"0", ElementType::u64, {}, to + 1}};
  expect_error<InvalidArgument>([&] { checkpoint.restore_into(asked); }, "two tensors");
  asked[1].name = "5";
  expect_error<PoolMismatch>([&] { checkpoint.restore_into(asked); }, "no tensor \"5\"");
  asked[1] = {"1", ElementType::u64, {1}, to + 1};
  expect_error<PoolMismatch>([&] { checkpoint.restore_into(asked); }, "shape (1)");
  EXPECT_EQ(std::count(to, to + kTensors, 0u), static_cast<std::ptrdiff_t>(kTensors)) << "nothing was written";
}

TEST_F(CheckpointTest, AGroupIsSavedAsItsTensorsAreEachTime) {
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  std::vector<std::uint64_t> data(5'000'000);  // several threads compute its checksums
  const TensorView tensors[] = {{"weights", ElementType::u64, {data.size()}, data.data()}};
  const TensorGroup group = checkpoint.group(tensors);
  expect_error<InvalidArgument>([&] { checkpoint.save(1, TensorGroup()); }, "no tensors");
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const auto next = filled(step, data.size());
    std::copy(next.begin(), next.end(), data.begin());
    checkpoint.save(step, group, "step").wait();
    const SavedState state = checkpoint.restore();
    EXPECT_EQ(state.step, step);
    EXPECT_EQ(std::memcmp(state.tensors[0].data, data.data(), data.size() * 8), 0);
  }
  checkpoint.close();
  pool.close();
  flip(offset_of(0) + 35'000'000);
  Pool again = Pool::open(path);
  const SavedState state = Checkpoint::open(again, "model").restore();
  EXPECT_EQ(state.step, 2u);
  ASSERT_EQ(state.damage.size(), 1u);
  EXPECT_NE(state.damage[0].find("block 533 is damaged, in tensor \"weights\""), std::string::npos) << state.damage[0];
}

TEST_F(CheckpointTest, AKilledProcessLosesNothingThatWasAcknowledged) {
  {
    Pool pool = Pool::create(path);
    Checkpoint::create(pool, "model", {.copies = 3});
  }
  std::uint64_t said = 0;
  for (unsigned round = 0; round < 40; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      Pool pool = Pool::open(path);
      Checkpoint checkpoint = Checkpoint::open(pool, "model");
      for (std::uint64_t step = said + 1;; ++step) {
        save(checkpoint, step).wait();
        if (write(ends[1], &step, sizeof step) != sizeof step) _exit(1);
        save(checkpoint, ++step);
      }
    }
    close(ends[1]);
    std::uint64_t step = 0;
    ASSERT_EQ(read(ends[0], &step, sizeof step), 8);
    usleep(round * 137 % 4000);
    kill(child, SIGKILL);
    do said = step;
    while (read(ends[0], &step, sizeof step) == 8);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    Pool pool = Pool::open(path);
    Checkpoint checkpoint = Checkpoint::open(pool, "model");
    const SavedState state = checkpoint.restore();
    ASSERT_GE(state.step, said);
    ASSERT_EQ(flaw(state), "");
    ASSERT_TRUE(state.damage.empty());
    said = state.step;
  }
}

}  // namespace
}  // namespace holdfast
