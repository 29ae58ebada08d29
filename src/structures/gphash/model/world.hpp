// world.hpp: one small table in the model: its pool, its volatile words, its cells, and who is doing what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proof/world.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/mutant.hpp"

namespace holdfast::gphash::model {

inline constexpr unsigned kMaxCallers = 3;
inline constexpr unsigned kDirectoryWords = 8;
inline constexpr std::uint64_t kNone = ~std::uint64_t{0};

using proof::word_hash;
using Image = proof::Words;

/// Who changes the pool, and what a crash leaves of that.
enum class Flavour : std::uint8_t {
  process,  ///< every store survives (kill -9)
  power,    ///< a CPU and a power cut
  gpu,      ///< a GPU's posted writes
  resident  ///< the same, and slots are read from copies, which are shown what is durable (GPHash §3.3)
};
constexpr bool is_gpu(Flavour flavour) { return flavour == Flavour::gpu || flavour == Flavour::resident; }
const char* name(Flavour flavour);
constexpr proof::Stores stores_of(Flavour flavour) {
  return is_gpu(flavour)             ? proof::Stores::by_word
         : flavour == Flavour::power ? proof::Stores::by_line
                                     : proof::Stores::all;
}

/// Where things lie in the pool, in words. A line of slots holds two words, and each word of the heap has a separate line: less
/// order than real lines give, so every real image is among those tried.
struct Regions {
  unsigned words = 0;
  unsigned slots_begin = 0;  ///< the reserved-key slot, then all levels; before them the directory, a line a word
  unsigned slot_words = 2;
  unsigned heap_begin = 0;  ///< to the end
  unsigned cell_words = 0;  ///< 0: no heap; of a slab, with variable-length pairs
  bool pairs = false;       ///< variable-length ones: a slab is their directory, and slots name cells in the others
};
/// The same for the arena: what recovery does not read of the heap, since no slot names it, does not matter.
proof::ArenaPlan plan_of(const Regions& regions, Flavour flavour);

/// The table that a scenario runs on.
struct ModelShape {
  unsigned levels = 2, hashes = 2, slots = 2, top_level = 1;
  unsigned spare_levels = 0;  ///< space in the arena above the top level
  unsigned key_words = 1;     ///< 2: wide keys
  unsigned value_bytes = 16;  ///< 16: two words on two lines of the heap; 8: in the slot
  bool variable = false;      ///< keys of two words and values of one or two, in pairs; `cells` are slabs
  bool columns = false;       ///< values are two columns, which change alone (Operation::column)
  Score score = Score::none;  ///< what cells keep behind their values
  unsigned cells = 6;
  unsigned reserve = 1;  ///< cells that inserts may not take (rule 6)
  bool may_move = true;
  std::uint64_t seed = 1;
};

/// The words of a key that a scenario gives as a number. Of wide keys, those whose numbers agree in the lower 32 bits have one
/// hash, all 64 bits of it (core/hash.hpp), so one fingerprint.
void encode_key(std::uint64_t number, const ModelShape& shape, std::uint64_t* words);
inline constexpr unsigned kKeyWords = 2;  ///< at most, of a key in the model
inline constexpr unsigned kMaxModelSlabs = 16;
inline constexpr unsigned kModelSlabBits = 7;  ///< a slab holds three of the smaller pairs, or two of the larger

using proof::Watcher;

enum class Access : std::uint8_t { load, store, flush, fence, peek, poke, swap, add, take, give_back, retire };
const char* name(Access access);

struct Event {
  std::uint8_t caller;
  Access access;
  std::uint32_t where;  ///< word of the pool; volatile words follow it
  std::uint64_t value;
};

/// A backend in which every access is an event. One at a time is current: the memory policy has no state.
class World : public proof::World {
 public:
  World(Flavour flavour, const ModelShape& shape);

  /// The pool is `image`, and everything volatile is as after a restart: zero, with no cell free.
  void load(const Image& image);

  using Entered = std::array<std::uint8_t, kMaxModelSlabs>;

  /// A quiet table, to begin at again and again.
  struct Snapshot {
    Image image;
    std::vector<std::uint64_t> words, free;
    Entered entered;
    std::int64_t items = 0;
  };
  /// Makes everything durable and remembers it. No epoch is open.
  Snapshot settle();
  void load(const Snapshot& snapshot);

  const ModelShape& shape() const { return shape_; }
  Flavour flavour() const { return flavour_; }
  const Regions& regions() const { return regions_; }
  /// Addresses level `top_level` and those below it, with tags in the world's own volatile words.
  gphash::View<gphash::RuntimeShape> layout(unsigned top_level);
  gphash::Slot* level(unsigned number);
  gphash::Slot* reserved_slot() { return reinterpret_cast<gphash::Slot*>(durable_.words() + kDirectoryWords); }
  std::byte* heap() { return reinterpret_cast<std::byte*>(durable_.words() + regions_.heap_begin); }
  std::uint64_t* volatile_words() { return volatile_.data(); }
  /// Where a slot's word is read: in its copy, or where there is none in the pool (null).
  std::uint64_t* copy_of(const std::uint64_t* word);
  /// True if every copy says what the pool does.
  bool copies_agree();

  // Callers
  void enter(unsigned caller);             ///< an epoch: cells retired from now on outlive it
  void leave(unsigned caller);             ///< and what the caller retired waits for who is inside
  bool is_blocked(unsigned caller) const;  ///< it missed a claim that is still held

  // What the memory policy calls
  std::uint64_t load(const std::uint64_t* word);
  void store(std::uint64_t* word, std::uint64_t value);
  void flush(const void* address, std::size_t bytes);
  void fence();
  std::uint64_t peek(const std::uint64_t* word);
  void poke(std::uint64_t* word, std::uint64_t value);
  bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value);
  void add(std::uint64_t* word, std::uint64_t amount);
  std::uint64_t take_cell(bool adds_key);
  /// Where a free cell of a class begins, or kNone. `enter` makes a slab's class durable, before a cell of it is used.
  std::uint64_t take_pair_cell(unsigned size_class, bool adds_key,
                               const std::function<void(std::uint64_t slab)>& enter);
  void return_cell(std::uint64_t cell);
  void retire_cell(std::uint64_t cell);
  void write_bytes(std::byte* to, const std::byte* from, std::size_t bytes);
  void read_bytes(std::byte* to, const std::byte* from, std::size_t bytes);
  void count_items(int change) { items_ += change; }
  /// The driver has counted `misses` claims that it missed: the caller waits until the word that it saw last changes.
  void note_misses(std::uint64_t misses);
  /// A run on a key begins, or begins again: then it knows nothing of what it has seen before.
  void begin_attempt(std::uint64_t misses);
  /// An item that could move is held by another caller. The run continues, to release what it holds; when it then counts a miss, it
  /// waits for that word.
  void note_held_move(const std::uint64_t* version_lock);

  void set_items(std::int64_t items) { items_ = items; }
  std::int64_t items() const { return items_; }

  /// Those of so many cells whose word satisfies `is_free`, the lowest taken first.
  void set_free_cells(std::uint64_t cells, const std::function<bool(std::uint64_t)>& is_free);
  // Cells of variable-length pairs are noted as a slot's word would name them, if their pairs filled them.
  static std::uint64_t filled(std::uint64_t word);
  void set_free_pairs(const std::function<bool(std::uint64_t)>& is_free);
  bool has_pair_cell(unsigned size_class) const {  ///< for an insert
    return find_free(size_class, true) != free_.size() || free_slab() != kNone;
  }
  std::vector<std::uint64_t> all_pair_cells() const;  ///< of slabs that have a class
  const std::vector<std::uint64_t>& free_cells() const { return free_; }
  bool none_is_retired() const { return retired_.empty(); }

  /// Of everything that the future depends on, but for the history of results.
  std::uint64_t hash() const;

  const std::vector<Event>& trace() const { return trace_; }
  void set_tracing(bool on) { tracing_ = on; }
  std::string describe(const Event& event) const;

 private:
  struct Caller {
    const std::uint64_t* last_word = nullptr;
    std::uint64_t last_value = 0;
    std::uint64_t misses = 0;
    const std::uint64_t* waits_for = nullptr;
    std::uint64_t waits_while = 0;
    std::uint64_t seen_before = 0;  // the running attempt
    bool missed_move = false;       // in it
    const std::uint64_t* held = nullptr;
    std::uint64_t held_value = 0;
    std::vector<std::uint64_t> retired;
  };
  struct Retired {
    std::uint64_t cell;
    unsigned readers;  // a bit for each caller that was inside
  };

  void trace(Access access, const void* where, std::uint64_t value);
  void looked_at(const std::uint64_t* word, std::uint64_t value);
  void set_volatile(std::uint64_t* word, std::uint64_t value);
  unsigned level_begin(unsigned number) const;
  std::uint64_t find_free(unsigned size_class, bool adds_key) const;
  std::uint64_t free_slab() const;

  Flavour flavour_;
  ModelShape shape_;
  Regions regions_;
  std::vector<std::uint64_t> volatile_;
  std::uint64_t volatile_hash_ = 0;
  std::size_t copies_begin_ = 0;     // in volatile_
  std::vector<std::uint64_t> free_;  // the last is taken first: reuse comes as early as it can
  Entered entered_{};                // 1 + the class of each slab that is not free for any
  std::vector<Retired> retired_;
  unsigned inside_ = 0;
  std::int64_t items_ = 0;
  Caller callers_[kMaxCallers];
  bool tracing_ = false;
  std::vector<Event> trace_;
};

/// The world that the memory policy acts on, and the step that it leaves out (`Step::count`: none).
inline World* current_world = nullptr;
inline gphash::Step left_out = gphash::Step::count;

/// Makes a world the current one for a scope.
class InWorld {
 public:
  explicit InWorld(World& world) : before_(current_world) { current_world = &world; }
  ~InWorld() { current_world = before_; }
  InWorld(const InWorld&) = delete;
  InWorld& operator=(const InWorld&) = delete;

 private:
  World* before_;
};

}  // namespace holdfast::gphash::model
