// save_crash_test.cpp: saves are crashed at each of their accesses, and again in what opens and goes on after that.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

#include "checkpoint/save.hpp"
#include "core/hash.hpp"
#include "proof/arena.hpp"
#include "proof/explorer.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr unsigned kCopies = 3, kData = 3;  // copies, and words of a state

/// A checkpoint without its catalogue: the state of save s is the words 100 s + i, of step s.
struct alignas(64) Small {
  struct alignas(64) Copy {
    CopyHeader header;
    std::uint64_t data[8];
  } copies[kCopies];
  alignas(64) std::uint64_t word;
};
constexpr unsigned kWords = sizeof(Small) / 8;
using proof::Words;

/// `gpu`: a GPU posts the tensors; what the CPU stores survives a kill.
enum class Flavour : std::uint8_t { process, power, gpu };
proof::Stores stores_of(Flavour flavour) {
  if (flavour == Flavour::gpu) return proof::Stores::by_word;
  return flavour == Flavour::power ? proof::Stores::by_line : proof::Stores::all;
}

enum class Mutant : std::uint8_t {
  none,
  no_withdrawal,       ///< the copy that is written still says that it counts
  no_withdraw_fence,   ///< or may do so after a crash
  no_fill_fence,       ///< the word names a copy that is not durable
  no_switch_fence,     ///< the next save writes the copy that the durable word names
  no_flush,            ///< nothing is written back
  switch_before_fill,  ///< the word first
  switch_before_wait,  ///< and what a GPU posted is waited for behind it
  no_recovery          ///< opening leaves what was filled and never switched to
};

/// Which copy a save writes: one that does not count, else the oldest (CheckpointObject::oldest).
unsigned oldest(const Small& small) {
  unsigned best = kCopies;
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned i = 0; i < kCopies; ++i) {
    if (small.word != 0 && i == copy_in(small.word)) continue;
    const CopyHeader& header = small.copies[i].header;
    const std::uint64_t sequence = counts(header, i, small.word) ? header.sequence : 0;
    if (sequence < least) best = i, least = sequence;
  }
  return best;
}

/// The newest save in what a crash left, which must be at least `acknowledged`; every copy that counts is whole.
std::string look(const Small& small, std::uint64_t acknowledged, std::uint64_t most) {
  if (!is_whole(small.word)) return "the word is torn";
  const std::uint64_t newest = sequence_in(small.word);
  if (newest < acknowledged) return "an acknowledged save is lost";
  if (newest > most) return "a save came before its time";
  bool found = newest == 0;
  for (unsigned i = 0; i < kCopies; ++i) {
    const CopyHeader& header = small.copies[i].header;
    if (!counts(header, i, small.word)) continue;
    found |= header.sequence == newest;
    for (unsigned j = 0; j < kData; ++j) {
      if (small.copies[i].data[j] != header.step * 100 + j) return "a copy that counts is not whole";
    }
  }
  return found ? "" : "the word names a copy that does not count";
}

class Saver final : public proof::Callers {
 public:
  Saver(Flavour flavour, const Words& before, unsigned saves, bool overlapping, Mutant mutant)
      : flavour_(flavour),
        arena_(stores_of(flavour), {.words = kWords, .rewritten_end = kWords}),
        before_(before),
        saves_(saves),
        overlapping_(overlapping),
        mutant_(mutant) {}
  std::function<std::string(const Words&, std::uint64_t hash, std::uint64_t acknowledged)> again;

  /// The policy that the shipped code is given.
  struct Memory {
    Saver& saver;
    void store(std::uint64_t* word, std::uint64_t value) const {
      saver.step();
      saver.arena_.store(kCpu, word, value);
      if (saver.flavour_ == Flavour::gpu) saver.arena_.fence(kCpu);
    }
    void flush(const void* address, std::size_t bytes) const {
      saver.step();
      if (saver.mutant_ != Mutant::no_flush && saver.flavour_ != Flavour::gpu) saver.arena_.flush(kCpu, address, bytes);
    }
    void fence() const {
      saver.step();
      if (!saver.fence_lost_) saver.arena_.fence(kCpu);
    }
  };
  static_assert(pool::WritableMemory<Memory>);

  unsigned count() const override { return 1; }
  void restart() override {
    arena_.load(before_);
    steps_ = 0;
    acknowledged_ = sequence_in(small().word);
    begun_ = acknowledged_;
  }
  void run(unsigned) override {
    if (mutant_ != Mutant::no_recovery) {
      for (unsigned i = 0; i < kCopies; ++i) withdraw_unfinished(memory_, &small().copies[i].header, i, small().word);
    }
    const std::uint64_t first = sequence_in(small().word) + 1;
    if (overlapping_) return two(first);
    for (std::uint64_t s = first; s < first + saves_; ++s) {
      const unsigned copy = oldest(small());
      begin(s, copy);
      end(s, copy);
    }
  }
  std::uint64_t hash() const override { return arena_.hash() + mix(steps_); }
  std::string crash() override {
    if (!crashed_.insert(arena_.hash() + mix(acknowledged_ + 77)).second) return {};
    std::string wrong;
    arena_.images([&](const Words& image, std::uint64_t hash) {
      ++images_;
      if (!wrong.empty() || !looked_.insert(hash + mix(acknowledged_ + 99)).second) return;
      wrong = look(*reinterpret_cast<const Small*>(image.data()), acknowledged_, begun_);
      if (wrong.empty() && again) wrong = again(image, hash, acknowledged_);
    });
    return wrong;
  }
  std::string end() override { return arena_.all_settled() ? "" : "something is not durable at the end"; }
  std::uint64_t images() const { return images_; }

 private:
  Small& small() { return *reinterpret_cast<Small*>(arena_.words()); }
  void step() {
    access();
    ++steps_;
  }
  void begin(std::uint64_t s, unsigned copy) {
    fence_lost_ = mutant_ == Mutant::no_withdraw_fence;
    if (mutant_ != Mutant::no_withdrawal) withdraw(memory_, &small().copies[copy].header);
    fence_lost_ = false;
    for (unsigned j = 0; j < kData; ++j) store_tensor(copy, j, s * 100 + j);
  }
  /// By the GPU each copy is a caller of its own: a save waits for its tensors alone.
  void store_tensor(unsigned copy, unsigned j, std::uint64_t value) {
    if (flavour_ != Flavour::gpu) return memory_.store(&small().copies[copy].data[j], value);
    step();
    arena_.store(kFirstOfGpu + copy, &small().copies[copy].data[j], value);
  }
  void wait_for_gpu(unsigned copy) {
    if (flavour_ != Flavour::gpu) return;
    step();
    arena_.fence(kFirstOfGpu + copy);
  }
  void end(std::uint64_t s, unsigned copy) {
    CopyHeader next = {};
    next.magic = kCopyMagic;
    next.sequence = next.step = s;
    pool::seal(next);
    begun_ = s;
    const auto fill_it = [&] {
      fence_lost_ = mutant_ == Mutant::no_fill_fence;
      fill(memory_, &small().copies[copy].header, next, sizeof small().copies[copy].data);
      fence_lost_ = false;
    };
    const auto switch_it = [&] {
      fence_lost_ = mutant_ == Mutant::no_switch_fence;
      switch_to(memory_, &small().word, s, copy);
      fence_lost_ = false;
    };
    if (mutant_ != Mutant::switch_before_wait) wait_for_gpu(copy);
    if (mutant_ == Mutant::switch_before_fill) switch_it();
    fill_it();
    if (mutant_ != Mutant::switch_before_fill) switch_it();
    if (mutant_ == Mutant::switch_before_wait) wait_for_gpu(copy);
    acknowledged_ = s;
  }
  /// Both are copied before the first counts.
  void two(std::uint64_t s) {
    const unsigned a = oldest(small());
    begin(s, a);
    unsigned b = 0;
    while (b == a || (small().word != 0 && b == copy_in(small().word))) ++b;
    begin(s + 1, b);
    end(s, a);
    end(s + 1, b);
  }

  static constexpr unsigned kCpu = 0, kFirstOfGpu = 1;  // callers of the arena
  const Memory memory_{*this};
  const Flavour flavour_;
  proof::Arena arena_;
  const Words before_;
  const unsigned saves_;
  const bool overlapping_;
  const Mutant mutant_;
  bool fence_lost_ = false;
  unsigned steps_ = 0;
  std::uint64_t acknowledged_ = 0, begun_ = 0, images_ = 0;
  std::set<std::uint64_t> crashed_, looked_;
};

struct Outcome {
  std::string wrong;
  std::uint64_t images = 0, again = 0;
};

/// Saves, crashed everywhere; of every image that differs, opening and further saves, crashed everywhere.
Outcome crash_everywhere(Flavour flavour, bool overlapping, Mutant mutant = Mutant::none) {
  Outcome outcome;
  std::set<std::uint64_t> seen;
  Saver saver(flavour, Words(kWords), 4, overlapping, mutant);
  saver.again = [&](const Words& image, std::uint64_t hash, std::uint64_t) {
    if (!seen.insert(hash).second) return std::string();
    Saver next(flavour, image, 3, false, mutant);
    const std::string wrong = proof::explore(next).failure;
    outcome.again += next.images();
    return wrong;
  };
  outcome.wrong = proof::explore(saver).failure;
  outcome.images = saver.images();
  return outcome;
}

class SaveCrash : public ::testing::TestWithParam<Flavour> {};

/// Images of four saves, and of two that overlap; and those of crashes after crashes. Fewer say that the proof has become weaker.
constexpr std::uint64_t kFound[][4] = {{37, 824, 19, 402}, {450, 30832, 596, 39471}, {85, 2576, 190, 4798}};

TEST_P(SaveCrash, LosesNothingThatWasAcknowledged) {
  for (const bool overlapping : {false, true}) {
    const Outcome outcome = crash_everywhere(GetParam(), overlapping);
    EXPECT_EQ(outcome.wrong, "") << overlapping;
    const std::uint64_t* const found = kFound[static_cast<unsigned>(GetParam())] + (overlapping ? 2 : 0);
    EXPECT_EQ(outcome.images, found[0]);
    EXPECT_EQ(outcome.again, found[1]);
  }
}

TEST_P(SaveCrash, SeesEachOrderAndFenceThatIsLeftOut) {
  const bool power = GetParam() == Flavour::power;
  const auto is_seen = [&](Mutant mutant) {
    return !crash_everywhere(GetParam(), false, mutant).wrong.empty() ||
           !crash_everywhere(GetParam(), true, mutant).wrong.empty();
  };
  EXPECT_TRUE(is_seen(Mutant::no_withdrawal));
  EXPECT_TRUE(is_seen(Mutant::switch_before_fill));
  EXPECT_EQ(is_seen(Mutant::no_withdraw_fence), power);
  EXPECT_EQ(is_seen(Mutant::no_fill_fence), power);
  EXPECT_EQ(is_seen(Mutant::no_switch_fence), power);
  EXPECT_EQ(is_seen(Mutant::no_flush), power);
  EXPECT_EQ(is_seen(Mutant::switch_before_wait), GetParam() == Flavour::gpu);
}

/// As three saves in flight can leave it: the first was filled, in part, and the copies of the others are empty.
TEST_P(SaveCrash, NeverTakesAnUnfinishedCopyForAnOlderOne) {
  Small left = {};
  left.copies[2].header.magic = kCopyMagic;
  left.copies[2].header.sequence = left.copies[2].header.step = 1;
  pool::seal(left.copies[2].header);
  Words words(kWords);
  std::memcpy(words.data(), &left, sizeof left);
  for (const Mutant mutant : {Mutant::none, Mutant::no_recovery}) {
    Saver saver(GetParam(), words, 2, false, mutant);
    EXPECT_EQ(proof::explore(saver).failure.empty(), mutant == Mutant::none);
  }
}

std::string name_of(const ::testing::TestParamInfo<Flavour>& info) {
  constexpr const char* kNames[] = {"killed", "power", "gpu"};
  return kNames[static_cast<unsigned>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, SaveCrash, ::testing::Values(Flavour::process, Flavour::power, Flavour::gpu), name_of);

}  // namespace
}  // namespace holdfast::checkpoint
