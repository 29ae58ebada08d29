// cache_map_test.cpp: the loader of a cache, a writer and a reader, in every order, over memory as weak as a GPU's.
//
// Each word keeps all its values. A load may see any that is not older than what its caller is known to have seen; an
// acquiring one also takes over what the releasing store's caller had seen; a swap sees the newest; a fence takes over what
// all fences before it had seen. index/cache_map.hpp is the code that ships. RULES.md 15, 25.
#include "index/cache_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "machine/model/fiber.hpp"
#include "machine/model/world.hpp"

namespace holdfast::machine::model {

namespace {

enum Where : unsigned { kMap, kShown, kCell, kCellEnd = kCell + 2, kCopy = kCellEnd, kWords = kCopy + 2 };
enum Who : unsigned { kLoader, kWriter, kReader, kActors };

constexpr std::uint64_t kOld = 1, kNew = 2;  // what the cell holds before the writer takes it, and then
constexpr unsigned kMostValues = 6;          // of a word in one execution

struct View {
  std::uint8_t seen[kWords] = {};
  void join(const View& other) {
    for (unsigned i = 0; i < kWords; ++i) seen[i] = std::max(seen[i], other.seen[i]);
  }
};

/// One execution after another: the choices of the one before, with the last that had another alternative changed.
class Choices {
 public:
  unsigned pick(unsigned of) {
    if (at_ == taken_.size()) taken_.push_back({0, of});
    return taken_[at_++].first;
  }
  bool next() {
    at_ = 0;
    while (!taken_.empty() && taken_.back().first + 1 == taken_.back().second) taken_.pop_back();
    if (taken_.empty()) return false;
    ++taken_.back().first;
    return true;
  }

 private:
  std::vector<std::pair<unsigned, unsigned>> taken_;
  std::size_t at_ = 0;
};

class WeakMemory;
WeakMemory* weak = nullptr;

class WeakMemory {
 public:
  WeakMemory(Fibers& fibers, Choices& choices) : fibers_(fibers), choices_(choices) {
    for (unsigned at : {kCell + 0u, kCell + 1u}) history_[at][0].value = kOld;
  }

  void run(unsigned who) {
    who_ = who;
    fibers_.enter(who);
  }
  std::uint64_t load(unsigned at, bool acquires) {
    fibers_.to_main();
    View& view = views_[who_];
    const unsigned oldest = view.seen[at];
    const unsigned index = oldest + choices_.pick(sizes_[at] - oldest);
    view.seen[at] = static_cast<std::uint8_t>(index);
    if (acquires) view.join(history_[at][index].released);
    return history_[at][index].value;
  }
  void store(unsigned at, std::uint64_t value, bool releases) {
    fibers_.to_main();
    add(at, value, releases);
  }
  bool swap(unsigned at, std::uint64_t seen, std::uint64_t value) {
    fibers_.to_main();
    View& view = views_[who_];
    view.seen[at] = static_cast<std::uint8_t>(sizes_[at] - 1);
    view.join(history_[at][view.seen[at]].released);
    if (history_[at][view.seen[at]].value != seen) return false;
    add(at, value, true);
    return true;
  }
  void fence() {
    fibers_.to_main();
    views_[who_].join(fenced_);
    fenced_ = views_[who_];
  }
  std::uint64_t newest(unsigned at) const { return history_[at][sizes_[at] - 1].value; }

  bool ended[kActors] = {};
  bool wrong = false;
  bool cached = false;  ///< the reader used the copy

 private:
  struct Message {
    std::uint64_t value = 0;
    View released;
  };
  void add(unsigned at, std::uint64_t value, bool releases) {
    ASSERT_LT(sizes_[at], kMostValues);
    views_[who_].seen[at] = static_cast<std::uint8_t>(sizes_[at]);
    history_[at][sizes_[at]++] = {value, releases ? views_[who_] : View{}};
  }

  Fibers& fibers_;
  Choices& choices_;
  unsigned who_ = 0;
  Message history_[kWords][kMostValues];
  unsigned sizes_[kWords] = {1, 1, 1, 1, 1, 1};
  View views_[kActors], fenced_;
};

/// The policy: F and the mark that the cell is named are `words`, of which only the addresses matter.
struct MapMemory {
  static bool keeps(index::Step step) { return step != left_out; }
  static std::uint64_t* word(unsigned at) { return words + at; }
  static unsigned where(const std::uint64_t* word) { return static_cast<unsigned>(word - words); }
  std::uint64_t peek(const std::uint64_t* word) const { return weak->load(where(word), true); }
  void poke(std::uint64_t* word, std::uint64_t value) const { weak->store(where(word), value, true); }
  bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    return weak->swap(where(word), seen, value);
  }
  void fence() const { weak->fence(); }
  static inline std::uint64_t words[kWords] = {};
};

/// Copies a cell that was hot; it is free by now, and about to be taken.
void load_cell() {
  const MapMemory memory;
  if (!index::begin_load(memory, memory.word(kMap), std::uint64_t{0})) return;
  for (unsigned i = 0; i < 2; ++i) weak->store(kCopy + i, weak->load(kCell + i, false), false);
  static_cast<void>(index::end_load(memory, memory.word(kMap), std::uint64_t{0}));
}

void write_cell(bool fences) {
  const MapMemory memory;
  for (unsigned i = 0; i < 2; ++i) weak->store(kCell + i, kNew, false);
  if (fences) memory.fence();
  index::remap(memory, memory.word(kMap), index::Mapped<std::uint64_t>{});
  memory.poke(memory.word(kShown), 1);
}

void read_cell() {
  const MapMemory memory;
  if (memory.peek(memory.word(kShown)) == 0) return;
  weak->cached = index::mapped(memory, memory.word(kMap)).cached();
  for (unsigned i = 0; i < 2; ++i) weak->wrong |= weak->load((weak->cached ? kCopy : kCell) + i, false) != kNew;
}

struct Seen {
  std::uint64_t executions = 0, wrong = 0, cached = 0;
};

/// All executions. The reader begins when the cell is named: before, it finds nothing.
Seen run_all(bool writer_fences) {
  Seen seen;
  Choices choices;
  Fibers fibers(kActors);
  const std::function<void(unsigned)> body = [&](unsigned who) {
    if (who == kLoader) load_cell();
    if (who == kWriter) write_cell(writer_fences);
    if (who == kReader) read_cell();
    weak->ended[who] = true;
    fibers.to_main();
  };
  do {
    WeakMemory memory(fibers, choices);
    weak = &memory;
    for (unsigned who = 0; who < kActors; ++who) {
      fibers.start(who, &body);
      memory.run(who);  // up to its first access
    }
    for (;;) {
      unsigned ready[kActors], size = 0;
      for (unsigned who = 0; who < kActors; ++who) {
        if (!memory.ended[who] && (who != kReader || memory.newest(kShown) != 0)) ready[size++] = who;
      }
      if (size == 0) break;
      memory.run(ready[choices.pick(size)]);
    }
    ++seen.executions;
    seen.wrong += memory.wrong ? 1 : 0;
    seen.cached += memory.cached ? 1 : 0;
  } while (choices.next());
  weak = nullptr;
  return seen;
}

TEST(CacheMap, ALoadAndAWriteOfOneCellAgree) {
  const Seen seen = run_all(true);
  EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions;
  EXPECT_GT(seen.cached, 0u) << "no reader ever used a copy";
  EXPECT_GT(seen.executions, 10'000u);
}

TEST(CacheMap, EveryStepIsNeeded) {
  for (const index::Step step :
       {index::Step::fence_before_load, index::Step::swap_after_load, index::Step::remap_after_write}) {
    left_out = step;
    const Seen seen = run_all(true);
    left_out = index::Step::count;
    EXPECT_NE(seen.wrong, 0u) << "nothing fails without step " << static_cast<int>(step);
  }
  EXPECT_NE(run_all(false).wrong, 0u) << "nothing fails without the writer's fence";
}

}  // namespace

}  // namespace holdfast::machine::model
