// world.hpp: a store of a few cells, in pieces of two lines, that know what a crash may leave of them: the shipped protocol, access by access. Rule 24.
//
// The index has one entry a key and says which cell is its: what a real one may answer in error (another key with the same signature) is
// the caller's part of `find`, and happens here when a cell is given to another key while a search is on its way.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "heap/slab.hpp"
#include "proof/world.hpp"
#include "store/protocol/search.hpp"
#include "store/protocol/time.hpp"

namespace holdfast::store::model {

enum class Flavour : std::uint8_t { process, power };

/// The step that is left out; `count`: none.
inline Step left_out = Step::count;

inline constexpr unsigned kMostKeys = 4, kMostPieces = 4;
/// A piece has two lines: two cells of the smallest class, or one of the next.
inline constexpr unsigned kModelPieceBits = 7, kPieceLines = 2, kLineWords = 8;
inline constexpr unsigned kMostLines = kMostPieces * kPieceLines, kMostCellWords = kPieceLines * kLineWords;

struct Shape {
  unsigned keys = 2;
  unsigned pieces = 1;
  bool one_signature = false;    ///< of all keys
  unsigned entries = kMostKeys;  ///< that the index has memory for
  unsigned numbers = 0;          ///< reserved at once; 0: enough of them are from the beginning
  unsigned flush_at = 0;         ///< a flush of everything that is planned from the beginning; 0: none
};

/// Key `number` as bytes: the number itself.
struct KeyBytes {
  std::uint64_t number;
  Key key() const { return {reinterpret_cast<const std::byte*>(&number), 8}; }
};

class World;

/// The model's Memory.
class ModelMemory {
 public:
  explicit ModelMemory(World& world) : world_(world) {}
  static bool keeps(Step step) { return step != left_out; }
  bool flushes() const;
  std::uint64_t load(const std::uint64_t* word) const;
  void store(std::uint64_t* word, std::uint64_t value) const;
  void flush(const void* address, std::size_t bytes) const;
  void fence() const;
  void order_loads() const {}  // callers see each other's accesses in one order

 private:
  World& world_;
};
static_assert(ItemMemory<ModelMemory>);

class World : public proof::World {
 public:
  World(Flavour flavour, const Shape& shape);

  /// Durable, and nothing is known of it: `recover` follows, or `set_volatile_part`.
  void load(const proof::Words& image);
  using proof::World::load;
  std::uint64_t hash() const;
  bool is_blocked(unsigned caller) const {
    return waits_[caller] >= 0 && volatile_.claims[static_cast<unsigned>(waits_[caller])];
  }
  bool flushes() const { return flavour_ == Flavour::power; }
  const Shape& shape() const { return shape_; }
  heap::View view();
  std::uint64_t* line(unsigned number) { return durable_.words() + (kPieceLines + number) * kLineWords; }

  std::uint64_t* record() { return line(kPieceLines * shape_.pieces); }

  /// A piece belongs to a class, to none, or to the caller that is about to give it one.
  static constexpr int kNoClass = -1, kChanging = -2;

  /// All that a crash takes.
  struct Volatile {
    std::array<int, kMostKeys> index = {-1, -1, -1, -1};  ///< the line at which the cell begins
    std::array<bool, kMostKeys + 1> claims = {};          ///< the last one: the record is being changed
    std::array<int, kMostPieces> classes = {kNoClass, kNoClass, kNoClass, kNoClass};
    std::array<bool, kMostLines> free = {};     ///< a cell begins at the line, and no item is in it
    std::array<bool, kMostLines> damaged = {};  ///< a cell begins at the line, and did not verify at the opening
    std::uint64_t newest = 0, reserved = 0;
    std::uint64_t now = 0, flushed = 0, planned = 0;
    bool flushing = false;
    std::uint64_t clock = 0;  ///< what a look at the clock says
  };
  const Volatile& volatile_part() const { return volatile_; }
  void set_volatile_part(const Volatile& part);

 private:
  friend class ModelParts;
  const Flavour flavour_;
  const Shape shape_;
  Volatile volatile_;
  std::array<int, kMostCallers> waits_ = {-1, -1, -1, -1};
};

/// What a change uses (change.hpp): each call is one access.
class ModelParts {
 public:
  explicit ModelParts(World& world) : world_(world), memory_(world) {}
  ModelMemory& memory() { return memory_; }
  void claim(Key key);
  void release(Key key);
  bool claimed(Key key);
  struct Candidates {
    unsigned size = 0;
    Cell cells[kMostKeys];
  };
  Candidates candidates(Key key);
  bool names(Key key, Location location);
  bool exchange(Key key, Location old, Location next);
  void remove(Key key, Location location);
  /// What the index names now is what `guess` answers later, while it may.
  void look_up(Key key);
  void guess_from_look_up(bool may) { guesses_ = may; }
  Guess guess(Key key);
  static Cell latest(const Key&) { return {}; }
  Cell take(std::uint64_t words);
  void give(const Cell& cell);
  Cell take_damaged(Key key);
  std::uint64_t draw();
  Moment moment();
  Moment time() { return moment(); }
  bool reaches(std::uint64_t time);
  bool flushed_since(std::uint64_t flushed);
  void expires(Location, std::uint64_t) {}  // no operation of the model looks for memory that has expired
  void flush_all();
  void flush_all_at(std::uint64_t time);
  /// The clock says `time`, and answers depend on it.
  void pass_time(std::uint64_t time);
  /// Of a recovery: what the record says. `numbers`: that were reserved, where the record does not say.
  void read_record(std::uint64_t numbers);
  /// Of a recovery: a piece belongs to a class, as its entry says.
  void set_class(unsigned piece, unsigned size_class) {
    world_.volatile_.classes.at(piece) = static_cast<int>(size_class);
  }

  /// Of a recovery: the cell does not verify.
  void set_damaged(const Cell& cell) { world_.volatile_.damaged.at(cell.location.word) = true; }

  /// The cell at a line, in the class that its piece has now.
  Cell cell_at(unsigned line);
  Cell at(Location location);
  static constexpr std::uint64_t chunk_words() { return kMostCellWords - kChunkHeaderWords; }

 private:
  void claim_number(unsigned k);
  static unsigned number_of(Key key);
  void release_record();
  Cell take_free(unsigned size_class);
  bool is_unused(unsigned piece) const;

  World& world_;
  ModelMemory memory_;
  bool guesses_ = false;
  std::array<Location, kMostKeys> looked_up_;
};

static_assert(Parts<ModelParts>);

}  // namespace holdfast::store::model
