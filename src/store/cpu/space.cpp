// space.cpp: cells for new items: free ones, then more of the heap, then those of items that are over, then of others.
//
//   a sweep of the class (CLOCK)                    evicts the first items that were not read since it passed over them
//   the hand, over the pieces of all classes        moves on by a piece when a class has lost a piece's worth of items: the class gets that piece if few of
//                                                   its items were read since the hand was there
//   a class without an item that may go             gets a piece of another class, the one with the fewest items that were read
#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <vector>

#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

namespace {

constexpr unsigned kMostRounds = 4096;
constexpr std::uint64_t kPiecesAtOnce = 16;  ///< asked for items that are over, before others are evicted
constexpr std::int64_t kLooksPerItem = 64, kMostLooks = 4 * kGroupCells;
constexpr std::size_t kVictims = 32;  ///< evicted at once, but few large ones: one item needs no more
constexpr std::uint64_t kVictimBytes = 128u << 10;
constexpr std::size_t kCandidates = 64;  ///< pieces of which one is chosen
constexpr std::uint32_t kSpared = 4;     ///< a piece stays if more than a fourth of its items were read
constexpr unsigned kMuchLarger = 32;     ///< times
constexpr std::uint32_t kFewCells = 64;  ///< of a piece whose chunks are looked at

struct KeySpace {
  std::array<std::uint64_t, (kMostKeyBytes + 7) / 8> words;
};

/// Of each thread: the key of an item that it removes.
std::uint64_t* key_space() {
  static thread_local const auto space = std::make_unique_for_overwrite<KeySpace>();
  return space->words.data();
}

}  // namespace

Cell Engine::take(std::uint64_t words) {
  const unsigned size_class = class_of(8 * words);
  if (size_class == kClasses) return {};
  // Each round but the last adds memory, or evicts an item. There may be no cell of this size then: other threads take what this one has freed, and the
  // piece that it has emptied may have got an item. Many such rounds in a row are not expected.
  for (unsigned round = 0; round < kMostRounds; ++round) {
    Cell cell = stocks_.take(memory_, words);
    if (cell.none() && !is_full_.load(std::memory_order_relaxed)) cell = take_kept(words);
    if (!cell.none()) return cell;
    if (grow()) continue;
    cell = take_reclaimed(words);
    // A class without a piece would empty one of another class.
    if (cell.none() && options_.evicts && cells_.pieces_of(size_class) == 0) {
      cell = cells_.take_larger(size_class, std::uint64_t{kMuchLarger} * class_bytes(size_class));
    }
    if (!cell.none()) return cell;
    if (!make_space(size_class)) break;
  }
  const Cell cell = take_kept(words);
  return cell.none() ? cells_.take_larger(size_class, kPieceBytes) : cell;
}

/// As if no thread kept cells.
Cell Engine::take_kept(std::uint64_t words) {
  stocks_.gather();
  return stocks_.take(memory_, words);
}

/// True: there are more pieces than before.
bool Engine::grow() {
  const std::uint64_t before = slabs_.load(std::memory_order_acquire);
  const std::lock_guard lock(growing_);
  if (slabs_.load(std::memory_order_relaxed) != before) return true;  // another thread was first
  const std::uint64_t slabs = options_.grow ? options_.grow() : before;
  is_full_.store(slabs == before, std::memory_order_relaxed);
  if (slabs == before) return false;
  cells_.extend(slabs);
  slabs_.store(slabs, std::memory_order_release);
  return true;
}

/// False: the heap has fewer pieces than a value in chunks needs, and cannot grow: nothing is evicted for it.
bool Engine::may_hold(std::uint64_t value_bytes) {
  if (!options_.evicts) return true;
  const std::uint64_t needed = value_bytes / (8 * chunk_words()) + 1;  // the item's cell lies in another piece
  while (cells_.pieces() < needed) {                                   // ends: the heap is bounded
    if (!grow()) return false;
  }
  return true;
}

/// Removes the items of a piece that are over.
std::uint64_t Engine::reclaim_piece(std::uint64_t piece, const Moment& moment) {
  const std::vector<Cell> cells = cells_.look_at(piece, moment.flushed);
  if (cells.empty()) return 0;
  /// When the items that stay end. If the look is not completed, another one is needed.
  struct Ends {
    CellSpace& space;
    const Location piece;
    std::uint64_t soonest = CellSpace::kNever;
    bool is_complete = false;
    ~Ends() { space.expires(piece, is_complete ? soonest : 0); }
  } ends{cells_, cells.front().location};
  Parts parts(*this);
  std::uint64_t* const key = key_space();
  std::uint64_t reclaimed = 0;
  for (const Cell& cell : cells) {
    const std::uint64_t sequence = memory_.load(cell.words + kSequenceWord);
    const State state{memory_.load(cell.words + kStateWord)};
    if (sequence == 0 || !state.is_live()) continue;
    if (!moment.is_over(state, sequence)) {
      if (state.expiry() != 0) ends.soonest = std::min(ends.soonest, state.expiry());
      continue;
    }
    Glance seen;
    if (!glance(memory_, cell, seen, key)) continue;
    const Key its = key_of(reinterpret_cast<const std::byte*>(key), seen.header.key_bytes);
    const auto is_over = [&](State now) { return moment.is_over(now, seen.sequence); };
    reclaimed += evict(parts, its, cell, seen, is_over) ? 1 : 0;
  }
  ends.is_complete = true;
  looks_left_.fetch_add(static_cast<std::int64_t>(reclaimed) * kLooksPerItem - static_cast<std::int64_t>(cells.size()),
                        std::memory_order_relaxed);
  return reclaimed;
}

/// Removes items that are over from the pieces that may have some, among `most` pieces behind those of the last call, once around at most. Stops when
/// `go_on(reclaimed)`, called after each piece that was looked at, is false. With the mutex `reclaiming_`.
template <class GoOn>
void Engine::reclaim_in_turn(std::uint64_t most, const GoOn& go_on) {
  const Moment moment = counters_.moment();
  const std::uint64_t all = slabs();
  /// Unless all pieces were looked at, no item ends earlier than before.
  struct Turn {
    CellSpace& space;
    std::uint64_t soonest;
    ~Turn() { space.lower_soonest(soonest); }
  } turn{cells_, cells_.forget_soonest()};
  std::uint64_t soonest = CellSpace::kNever;
  bool goes_on = true;
  for (std::uint64_t i = 0; i < std::min(all, most); ++i) {
    if (!goes_on) return;
    const std::uint64_t piece = reclaimed_to_ % all;
    reclaimed_to_ = piece + 1;
    std::uint64_t its = cells_.soonest_of(piece, moment.flushed);
    if (its <= moment.now) {
      goes_on = go_on(reclaim_piece(piece, moment));
      its = cells_.soonest_of(piece, 0);
    }
    soonest = std::min(soonest, its);
  }
  if (most < all) return;
  turn.soonest = soonest;
  looked_flushed_ = moment.flushed;
}

/// False: no item is over. With the mutex `reclaiming_`. Lets time pass only if an item has an end.
bool Engine::may_be_over() {
  if (cells_.soonest() != CellSpace::kNever) counters_.refresh();
  const Moment time = counters_.time();
  return cells_.soonest() <= time.now || looked_flushed_ != time.flushed;
}

/// A cell of items that are over. With eviction these go first only where looking for them costs little: for each item that is freed, 64 cells are looked
/// at. None, without eviction: no item of the store is over whose end makes one free.
Cell Engine::take_reclaimed(std::uint64_t words) {
  std::unique_lock lock(reclaiming_, std::defer_lock);
  if (!options_.evicts) {
    lock.lock();
  } else if (looks_left_.load(std::memory_order_relaxed) <= 0 || !lock.try_lock()) {
    return {};
  }
  if (!may_be_over()) return {};
  Cell cell;
  reclaim_in_turn(options_.evicts ? kPiecesAtOnce : slabs(), [&](std::uint64_t reclaimed) {
    if (reclaimed != 0) cell = take_kept(words);
    return cell.none() && (!options_.evicts || looks_left_.load(std::memory_order_relaxed) > 0);
  });
  return cell;
}

std::uint64_t Engine::reclaim(std::uint64_t pieces) {
  const std::lock_guard lock(reclaiming_);
  if (!may_be_over()) return 0;
  std::uint64_t sum = 0, looked = 0;
  reclaim_in_turn(slabs(), [&](std::uint64_t reclaimed) {
    sum += reclaimed;
    return ++looked < pieces || sum == 0;
  });
  return sum;
}

/// The cell of the live item to which a cell in use belongs: itself, or that of a chunk's item. None: the cell is reserved, or a thread has it.
Cell Engine::item_of(const Cell& cell) const {
  Cell item = cell;
  if (memory_.load(cell.words + kSequenceWord) == 0) {
    const std::uint64_t owner = memory_.load(cell.words + kOwnerWord);
    if (owner >> 63 == 0) return {};
    item = cells_.at({static_cast<std::uint32_t>(owner)});
    if (item.none() || memory_.load(item.words + kSequenceWord) != memory_.load(cell.words + kOwnerSequenceWord)) {
      return {};
    }
  }
  return State{memory_.load(item.words + kStateWord)}.is_live() ? item : Cell{};
}

/// Removes the items of these cells that are there still, unless they are leased or, with `spares_read`, are in chunks and were read lately. An item that is
/// leased meanwhile may go: the lease holds its cells.
std::uint64_t Engine::evict_some(std::span<const Cell> cells, bool spares_read) {
  Parts parts(*this);
  std::uint64_t evicted = 0;
  std::uint64_t* const key = key_space();
  for (const Cell& victim : cells) {
    const Cell cell = item_of(victim);
    if (cell.none()) continue;
    const bool is_chunk = !(cell.location == victim.location);
    if (is_chunk && spares_read && cells_.unmark(cell.location)) continue;
    Glance seen;
    if (!glance(memory_, cell, seen, key)) continue;
    const Key its = key_of(reinterpret_cast<const std::byte*>(key), seen.header.key_bytes);
    const auto may_go = [&](State) { return !cells_.is_leased(cell.location); };
    evicted += evict(parts, its, cell, seen, may_go) ? 1 : 0;
  }
  evicted_.fetch_add(evicted, std::memory_order_relaxed);
  if (evicted != 0 && looks_left_.load(std::memory_order_relaxed) < kMostLooks) {
    looks_left_.fetch_add(static_cast<std::int64_t>(evicted) * kLooksPerItem, std::memory_order_relaxed);
  }
  return evicted;
}

/// Bytes that the class has lost lately, of each of its pieces.
double Engine::pressure_of(unsigned size_class) const {
  const std::uint64_t pieces = std::max<std::uint64_t>(cells_.pieces_of(size_class), 1);
  return static_cast<double>(pressure_[size_class].load(std::memory_order_relaxed)) * class_bytes(size_class) /
         static_cast<double>(pieces);
}

/// A chunk was read when its item was: it is looked at where there are few, since its item lies elsewhere.
CellSpace::Use Engine::use_of(std::uint64_t piece) const {
  CellSpace::Use use = cells_.use_of(piece);
  if (use.cells == 0 || use.cells > kFewCells) return use;
  for (const Cell& cell : cells_.used_cells_of(piece)) {
    const Cell item = item_of(cell);
    if (item.none() || item.location == cell.location) continue;
    use.read += cells_.is_marked(item.location) ? 1 : 0;
  }
  return use;
}

void Engine::forget_reads(std::uint64_t piece) {
  for (const Cell& cell : cells_.cells_of(piece)) {
    cells_.unmark(cell.location);
    const Cell item = item_of(cell);
    if (!item.none() && !(item.location == cell.location)) cells_.unmark(item.location);
  }
}

/// As if no thread kept cells. True: there are more pieces without an item than before.
bool Engine::gather_pieces() {
  const std::uint64_t unused = cells_.free_pieces();
  stocks_.gather();
  return cells_.free_pieces() > unused;
}

/// Evicts all items of a piece. False: some of its cells are no item's, so that it would not be free, or nothing was evicted.
bool Engine::empty_piece(std::uint64_t piece) {
  const std::vector<Cell> cells = cells_.used_cells_of(piece);
  if (std::ranges::any_of(cells, [this](const Cell& cell) { return item_of(cell).none(); })) return false;
  const bool evicts = evict_some(cells, false) != 0;
  return gather_pieces() || evicts;
}

/// The class has lost as many items as a piece has: it gets the piece at the hand, unless that piece's class lost more than half as much of each of its
/// pieces, or many of its items were read since the hand was there.
bool Engine::take_over_piece(unsigned size_class) {
  if (gather_pieces()) return true;
  const std::uint64_t all = slabs();
  CellSpace::Use use;
  std::uint64_t piece = 0;
  for (std::uint64_t i = 0; i < all && use.size_class == kClasses; ++i) {
    piece = hand_.fetch_add(1, std::memory_order_relaxed) % all;
    use = use_of(piece);
  }
  const bool may_move = use.size_class != size_class && use.size_class != kClasses && !use.is_leased &&
                        pressure_of(use.size_class) < pressure_of(size_class) / 2;
  for (auto& pressure : pressure_) pressure.store(pressure.load(std::memory_order_relaxed) / 2);
  if (!may_move) return false;
  if (use.read > use.used / kSpared) {
    forget_reads(piece);
    return false;
  }
  return empty_piece(piece);
}

/// The class gets a piece of another one: of kCandidates pieces, that with the fewest items that were read and, among such, of the class that has lost least.
/// False: none of all pieces can be had.
bool Engine::free_piece(unsigned size_class) {
  if (gather_pieces()) return true;
  using Candidate = std::tuple<std::uint32_t, double, std::uint64_t, std::uint64_t>;  // in the order of their looks
  std::vector<Candidate> candidates;
  const std::uint64_t all = slabs();
  for (std::uint64_t looks = 0; looks < all;) {
    candidates.clear();
    for (; looks < all && candidates.size() < kCandidates; ++looks) {
      const std::uint64_t piece = hand_.fetch_add(1, std::memory_order_relaxed) % all;
      const CellSpace::Use use = use_of(piece);
      if (use.size_class == size_class || use.size_class == kClasses || use.is_leased) continue;
      const std::uint32_t read = 16 * use.read / use.cells;
      candidates.emplace_back(read, pressure_of(use.size_class), looks, piece);
    }
    std::sort(candidates.begin(), candidates.end());
    for (const Candidate& candidate : candidates) {
      if (empty_piece(std::get<3>(candidate))) return true;
    }
  }
  return false;
}

/// Evicts items so that a cell of the class may be free. False: no item may go, and the class gets no piece.
bool Engine::make_space(unsigned size_class) {
  if (!options_.evicts) return false;
  const std::uint64_t pieces = cells_.pieces_of(size_class);
  if (pieces == 0) return free_piece(size_class);
  const std::uint64_t a_piece = mapped_.heap.slab_bytes() / class_bytes(size_class);
  if (pressure_[size_class].load(std::memory_order_relaxed) >= a_piece && take_over_piece(size_class)) return true;
  std::array<Cell, kVictims> victims;
  const std::size_t most = std::clamp<std::size_t>(kVictimBytes / class_bytes(size_class), 1, kVictims);
  // Twice around: the first time may clear the marks of all cells.
  const std::uint64_t sweeps =
      2 + 2 * pieces * a_piece / CellSpace::kSweepCells + 2 * kGroupCells / CellSpace::kSweepCells;
  for (std::uint64_t i = 0; i < sweeps; ++i) {
    const std::size_t found = cells_.sweep(size_class, std::span(victims).first(most));
    const std::uint64_t evicted = evict_some(std::span(victims).first(found), true);
    pressure_[size_class].fetch_add(evicted, std::memory_order_relaxed);
    if (evicted != 0) return true;
  }
  return free_piece(size_class);
}

}  // namespace holdfast::store::cpu
