// unfinished_test.cpp: checkpoints as a crash leaves them while several saves are in flight, and with large numbers, opened and used by
// the code that ships.
#include <algorithm>
#include <map>

#include "../pool/pool_test.hpp"
#include "checkpoint/layout.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/table.hpp"
#include "pool/copies.hpp"
#include "pool/pool_image.hpp"

namespace holdfast::checkpoint {
namespace {

using pool::Folder;

class Unfinished : public ::testing::Test {
 protected:
  static void save(Checkpoint& checkpoint, std::uint64_t step) {
    const TensorView tensors[] = {{"step", ElementType::u64, {}, &step}};
    checkpoint.save(step, tensors).wait();
  }
  /// The step of each save that is listed, which its tensor has too.
  static std::map<std::uint64_t, std::uint64_t> steps_of(Checkpoint& checkpoint) {
    std::map<std::uint64_t, std::uint64_t> steps;
    for (const SavedCopy& copy : checkpoint.list()) {
      const SavedState state = checkpoint.restore(nullptr, copy.sequence);
      std::uint64_t in_tensor = 0;
      std::memcpy(&in_tensor, state.tensors.at(0).data, sizeof in_tensor);
      EXPECT_EQ(in_tensor, state.step);
      EXPECT_TRUE(steps.emplace(copy.sequence, state.step).second) << "two copies of save " << copy.sequence;
    }
    return steps;
  }

  std::uint64_t word_offset() const {
    return directory().extents_of(1, pool::kPagesRole).at(0).offset + 2 * pool::kPage;
  }
  void edit_header(unsigned copy, const std::function<void(CopyHeader&)>& edit, bool sealed) {
    auto bytes = pool::read_all(path);
    const std::uint64_t at = directory().extents_of(1, kCopyRole).at(copy).offset;
    CopyHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    edit(header);
    if (sealed) pool::seal(header);
    std::memcpy(bytes.data() + at, &header, sizeof header);
    pool::write_all(path, bytes);
  }
  void write_word(std::uint64_t word) {
    auto bytes = pool::read_all(path);
    std::memcpy(bytes.data() + word_offset(), &word, sizeof word);
    pool::write_all(path, bytes);
  }

  Folder folder{"/dev/shm"};
  std::string path = folder / "a.hold";

 private:
  pool::Directory directory() const { return pool::read_pool(system::File::open(path, false)).directory; }
};

/// Saves 4, 5 and 6 were in flight behind save 3: that of copy 3 was filled and not switched to, copies 0 and 1 were withdrawn.
TEST_F(Unfinished, ACopyThatNeverCountedIsNoOlderStateLater) {
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 4});
    for (std::uint64_t step = 1; step <= 4; ++step) save(checkpoint, step);
  }
  write_word(word_of(3, 2));
  for (const unsigned copy : {0u, 1u})
    edit_header(
        copy, [](CopyHeader& header) { header.sequence = 0; }, false);
  using Steps = std::map<std::uint64_t, std::uint64_t>;
  {
    Pool pool = Pool::open(path, {.read_only = true});
    Checkpoint checkpoint = Checkpoint::open(pool, "model");
    EXPECT_EQ(steps_of(checkpoint), (Steps{{3, 3}}));
  }
  {
    Pool pool = Pool::open(path);
    Checkpoint checkpoint = Checkpoint::open(pool, "model");
    EXPECT_EQ(steps_of(checkpoint), (Steps{{3, 3}}));
    save(checkpoint, 40);
    save(checkpoint, 50);
  }
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  EXPECT_EQ(steps_of(checkpoint), (Steps{{3, 3}, {4, 40}, {5, 50}}));
}

/// Sequences and steps cross 2^32, and the word keeps the copy beside them.
TEST_F(Unfinished, NumbersOfSavesGoBeyond32Bits) {
  constexpr std::uint64_t kBefore = (std::uint64_t{1} << 32) - 2;
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 8});
    for (std::uint64_t step = 1; step <= 8; ++step) save(checkpoint, step);
  }
  for (unsigned copy = 0; copy < 8; ++copy) {
    edit_header(
        copy, [&](CopyHeader& header) { header.sequence = kBefore - 7 + copy; }, true);
  }
  write_word(word_of(kBefore, 7));
  std::map<std::uint64_t, std::uint64_t> expected;
  for (std::uint64_t i = 4; i < 8; ++i) expected[kBefore - 7 + i] = i + 1;
  {
    Pool pool = Pool::open(path);
    Checkpoint checkpoint = Checkpoint::open(pool, "model");
    EXPECT_EQ(checkpoint.restore().sequence, kBefore);
    for (std::uint64_t next = kBefore + 1; next <= kBefore + 4; ++next) {
      save(checkpoint, next * 3);
      expected[next] = next * 3;
      EXPECT_EQ(checkpoint.restore().sequence, next);
      EXPECT_EQ(checkpoint.restore().step, next * 3);
    }
    EXPECT_EQ(steps_of(checkpoint), expected);
  }
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  EXPECT_EQ(steps_of(checkpoint), expected);
  EXPECT_EQ(checkpoint.restore(nullptr, kBefore + 2).step, (kBefore + 2) * 3);
}

/// The last save that there may be is made, and no other.
TEST_F(Unfinished, TheLastNumberOfASaveIsNotPassed) {
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model");
    save(checkpoint, 1);
  }
  edit_header(
      0, [](CopyHeader& header) { header.sequence = kSequences - 2; }, true);
  write_word(word_of(kSequences - 2, 0));
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  save(checkpoint, 2);
  pool::expect_error<SystemError>([&] { save(checkpoint, 3); }, "all the saves");
  EXPECT_EQ(steps_of(checkpoint), (std::map<std::uint64_t, std::uint64_t>{{kSequences - 2, 1}, {kSequences - 1, 2}}));
}

/// Where the word is damaged, the newest copy that is intact counts, wherever it lies.
TEST_F(Unfinished, WithoutTheWordTheNewestCopyCounts) {
  for (std::uint64_t saves = 3; saves <= 5; ++saves) {
    {
      Pool pool = Pool::create(path, true);
      Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 3});
      for (std::uint64_t step = 1; step <= saves; ++step) save(checkpoint, step * 10);
    }
    write_word(word_of(saves, 0) ^ std::uint64_t{1} << 60);
    Pool pool = Pool::open(path, {.read_only = true});
    Checkpoint checkpoint = Checkpoint::open(pool, "model");
    const SavedState state = checkpoint.restore();
    EXPECT_EQ(state.sequence, saves);
    EXPECT_EQ(state.step, saves * 10);
    EXPECT_EQ(state.damage.size(), 1u);
  }
}

/// Between two tensors, and behind the last, a copy has nothing of the state that lay there before.
TEST_F(Unfinished, NothingOfAnOlderStateIsBetweenTensors) {
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  const std::vector<std::uint8_t> old(4000, 0xee), small(100, 1), smaller(30, 2);
  const TensorView before[] = {{"old", ElementType::u8, {old.size()}, old.data()}};
  const TensorView after[] = {{"a", ElementType::u8, {small.size()}, small.data()},
                              {"b", ElementType::u8, {smaller.size()}, smaller.data()}};
  for (std::uint64_t step = 1; step <= 2; ++step) checkpoint.save(step, before).wait();
  checkpoint.save(3, after).wait();
  const SavedState state = checkpoint.restore();
  for (const SavedTensor& tensor : state.tensors) {
    for (std::uint64_t at = tensor.bytes; at < kAlignment; ++at) ASSERT_EQ(tensor.data[at], std::byte{0}) << at;
  }
}

}  // namespace
}  // namespace holdfast::checkpoint
