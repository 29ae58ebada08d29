// cell_stocks_test.cpp: cells that threads keep: nobody else has them, leased ones are not reused, and none is lost.
#include "store/cpu/cell_stocks.hpp"

#include <random>
#include <thread>

#include "store/engine_kit.hpp"
#include "store/sanitized.hpp"

namespace holdfast::store::cpu {
namespace {

class CellStocksTest : public EngineTest {
 protected:
  static constexpr std::uint64_t kPieces = 7;
  Heap heap_{kPieces};
  const Memory memory_{pool::Persist()};
  CellSpace space_{heap_.view()};
  CellStocks stocks_{space_};

  /// Changes cells of three classes, of which the last is not kept.
  void change(std::uint64_t thread) {
    std::mt19937_64 random(thread);
    std::vector<std::pair<Cell, std::uint64_t>> held;
    std::uint64_t tag = thread << 32;
    for (int i = 0; i < (kSanitized ? 3'000 : 30'000); ++i) {
      if (held.size() < 300 && random() % 2 == 0) {
        take(random, held, tag);
      } else if (!held.empty()) {
        give(random, held);
      }
    }
    while (!held.empty()) give(random, held);
  }

 private:
  void take(std::mt19937_64& random, std::vector<std::pair<Cell, std::uint64_t>>& held, std::uint64_t& tag) {
    const unsigned size_class = class_of(std::array{64, 4'096, 60'000}[random() % 3]);
    std::array<Cell, 40> cells;
    const std::size_t taken =
        stocks_.take(memory_, size_class, std::span(cells).first(1 + random() % (random() % 8 == 0 ? 40 : 4)));
    if (taken == 0 && random() % 4 == 0) stocks_.gather();
    for (const Cell& cell : std::span(cells).first(taken)) {
      ASSERT_EQ(8 * cell.size, class_bytes(size_class));
      cell.words[0] = cell.words[cell.size - 1] = ++tag;
      held.emplace_back(cell, tag);
    }
  }
  void give(std::mt19937_64& random, std::vector<std::pair<Cell, std::uint64_t>>& held) {
    std::swap(held[random() % held.size()], held.back());
    const auto [cell, tag] = held.back();
    held.pop_back();
    const auto is_same = [&] { return cell.words[0] == tag && cell.words[cell.size - 1] == tag; };
    ASSERT_TRUE(is_same()) << "another thread has the cell";
    const bool leases = random() % 16 == 0;
    if (leases) {
      ASSERT_TRUE(space_.lease(cell.location));
    }
    stocks_.give(cell);
    if (!leases) return;
    std::array<Cell, 8> others;
    const std::size_t taken = stocks_.take(memory_, class_of(8 * cell.size), others);
    for (const Cell& other : std::span(others).first(taken)) other.words[0] = other.words[other.size - 1] = ~tag;
    std::this_thread::yield();
    ASSERT_TRUE(is_same()) << "a leased cell was used";
    space_.end_lease(cell.location);
    stocks_.give(std::span<const Cell>(others).first(taken));
  }
};

TEST_P(CellStocksTest, ThreadsShareNoCellAndLoseNone) {
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 1; thread <= 4; ++thread) threads.emplace_back([=, this] { change(thread); });
  }
  stocks_.gather();
  EXPECT_GE(space_.free_pieces(), kPieces - 3) << "each class keeps one piece at most";
  std::vector<Cell> all(kPieces * kGroupCells + 1);
  std::size_t taken = 0;
  for (std::size_t more = 1; more != 0; taken += more) more = stocks_.take(memory_, 0, std::span(all).subspan(taken));
  EXPECT_EQ(taken, all.size() - 1);
  std::sort(all.begin(), all.end() - 1, [](const Cell& a, const Cell& b) { return a.words < b.words; });
  for (std::size_t i = 1; i < taken; ++i) ASSERT_EQ(all[i].words - all[i - 1].words, 8) << i;
}

/// Another thread ends, and its stock has cells of each piece.
TEST_P(CellStocksTest, KeptCellsAreUsedWhereMemoryIsLacking) {
  for (const bool evicts : {false, true}) {
    Heap heap(6);
    Engine engine(mapped(heap), {}, options_for_many(evicts));
    constexpr int kItems = 40'000;  // in two pieces
    const auto other = [&](const auto& act) { std::jthread([&] { act(); }); };
    other([&] {
      for (int i = 0; i < kItems; ++i) ASSERT_EQ(set(engine, std::to_string(i), "v"), Change::inserted) << i;
      for (int i = 0; i < kItems; ++i) ASSERT_EQ(engine.erase(bytes_of(std::to_string(i))), Change::erased) << i;
    });
    const std::string large(1'000'000, 'v');  // two in a piece
    for (int i = 0; i < 12; ++i) ASSERT_EQ(set(engine, "large" + std::to_string(i), large), Change::inserted) << i;
    EXPECT_EQ(engine.evicted(), 0u);
    if (!evicts) {
      EXPECT_EQ(set(engine, "one more", large), Change::no_space);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Store, CellStocksTest, testing::Values(32u), name_of);

}  // namespace
}  // namespace holdfast::store::cpu
