// engine.hpp: a store's operations on CPU threads: the protocol over a mapped heap, with the index in host memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "store/cpu/cell_stocks.hpp"
#include "store/cpu/claims.hpp"
#include "store/cpu/counters.hpp"
#include "store/cpu/damage/damaged.hpp"
#include "store/cpu/engine_index.hpp"
#include "store/protocol/recover.hpp"

namespace holdfast::store::cpu {

/// The durable memory of a store.
struct Mapped {
  heap::View heap;
  std::uint64_t* record = nullptr;  ///< protocol/record.hpp
  std::uint64_t seed = 0;           ///< of the hash, drawn when the store was made
  bool writes = true;               ///< false: the pool is only read
};

struct EngineOptions {
  cuckoo::cpu::CpuOptions index;
  bool salvages = false;  ///< after a power cut: items may have numbers whose reservation it took
  bool evicts = true;     ///< items are evicted where memory is lacking; otherwise such changes answer `no_space`
  /// Adds slabs to the heap, where it is, and returns how many it has then; as many as before: it cannot grow. One caller at a time.
  std::function<std::uint64_t()> grow = {};
  WallClock clock = wall_clock;
  std::function<void()> require_whole = {};  ///< throws where the memory of the heap has been lost
  /// Makes the index, from then on the CPU's if it fails. None: the CPU's from the beginning.
  std::function<std::unique_ptr<cuckoo::AnyIndex>(const cuckoo::cpu::CpuOptions&)> other_index = {};
  std::string label = {};               ///< of the store, for errors
  std::function<void()> changing = {};  ///< called before time, which passes in searches too, changes what is stored
};

/// What a `get` answers.
struct Value {
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;     ///< the client's, or the sequence number
  std::uint64_t expiry = 0;  ///< milliseconds since 1970; 0: never
  std::uint32_t bytes = 0;   ///< of the value; more than there is space for: nothing was copied
  bool is_stale = false;
  std::uint64_t sequence = 0;
};

/// Byte strings, one a row: row i is [offsets[i], offsets[i + 1]) of `bytes`.
struct ByteRows {
  const std::byte* bytes = nullptr;
  const std::uint64_t* offsets = nullptr;  ///< (size + 1,)
  std::size_t size = 0;

  std::span<const std::byte> operator[](std::size_t row) const {
    return {bytes + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
};

/// What a key must have for a change of its item.
enum class Condition : std::uint8_t {
  none,
  absent,   ///< no item; otherwise `exists`
  present,  ///< an item; otherwise `not_found`
  cas       ///< an item with this CAS id; otherwise `mismatch`, or `not_found`
};

/// One change of one key.
struct Ask {
  enum class Kind : std::uint8_t { set, count, erase, touch, mark_stale };

  Kind kind = Kind::set;
  Content content;  ///< of `set`; of the others the key
  Condition condition = Condition::none;
  std::uint64_t cas = 0;     ///< of `set` with Condition::cas; of `erase`, if not 0
  std::uint64_t number = 0;  ///< of `count`: by how much; of `touch` and `mark_stale`: the expiry
  bool subtracts = false;    ///< of `count`
};

/// Thread-safe. Every change is durable when its call returns; a search sees the state before or after it.
class Engine {
 public:
  /// Opens a store: rebuilds the index from its items. Throws NoSpace (memory for the index), PoolCorrupt (the record is damaged), DeviceError
  /// (another index than the CPU's cannot be made).
  Engine(const Mapped& mapped, const pool::Persist& persist, const EngineOptions& options);

  const Recovered& recovered() const { return recovered_; }
  /// Items, with those that have expired or were flushed and whose memory was not needed yet, but no more than numbers were drawn since the last
  /// flush: none at a flush.
  std::uint64_t size() {
    const Moment now = counters_.moment();
    return now.newest <= now.flushed ? 0 : std::min(index_.size(), now.newest - now.flushed);
  }
  EngineIndex& index() { return index_; }
  std::uint64_t free_pieces() {
    stocks_.gather();
    return cells_.free_pieces();
  }
  /// Items that were damaged when the store was opened, and pieces whose items are not known.
  std::uint64_t damaged_at_open() const { return recovered_.damaged + recovered_.damaged_pieces; }
  std::uint64_t damaged_pieces_at_open() const { return recovered_.damaged_pieces; }
  std::uint64_t evicted() const { return evicted_.load(std::memory_order_relaxed); }

  /// `number`: the new one of a `count`.
  Change change(const Ask& ask, std::uint64_t& number);
  Change set(const Content& content, Condition condition = Condition::none, std::uint64_t cas = 0);
  /// Puts `added` behind the value, or before it. The item keeps its flags and its expiry. `damaged`, as of `add`: the value does not match its
  /// checksum.
  Change extend(std::span<const std::byte> key, std::span<const std::byte> added, bool before,
                std::uint32_t most_bytes);
  /// The value, a decimal number below 2^64, becomes larger by `by` (it wraps), or smaller, but not less than 0. `result`: the new value.
  /// `mismatch`: the value is no such number.
  Change add(std::span<const std::byte> key, std::uint64_t by, bool subtract, std::uint64_t& result);
  /// With a CAS id other than 0: only the item that has it.
  Change erase(std::span<const std::byte> key, std::uint64_t cas = 0);
  Change touch(std::span<const std::byte> key, std::uint64_t expiry);
  /// The same, and copies the item that it touched as `read` does; `state`: that the item has then.
  template <class Copy>
  Change get_and_touch(std::span<const std::byte> key, std::uint64_t expiry, const Copy& copy, State& state);
  /// The item stays, marked as stale, and expires at `expiry` unless that is 0.
  Change mark_stale(std::span<const std::byte> key, std::uint64_t expiry);
  /// Copies the key's value. False: the key has no item.
  bool get(std::span<const std::byte> key, std::span<std::byte> space, Value& value);
  /// `copy(header, state, sequence, cell)` copies what is wanted, and answers true; it may be called several times, and the last time counts.
  template <class Copy>
  bool read(std::span<const std::byte> key, const Copy& copy);

  /// Of an item that `copy` is called with: its value, which is whole unless it answers false; `copy` answers the same then.
  bool copy_value(const Header& header, std::uint64_t sequence, const Cell& cell, std::byte* to) const {
    if (header.chunks == 0) {
      copy_words(cell.words + header.value_at(), header.value_bytes, to);
      return true;
    }
    return visit_chunks(
        memory_, cell, header, sequence, chunk_words(), [&](Location location) { return cells_.at(location); },
        [&](const std::uint64_t* words, std::uint64_t first, std::uint64_t count) {
          copy_words(words, std::min<std::uint64_t>(8 * count, header.value_bytes - 8 * first), to + 8 * first);
        });
  }
  /// Whether an item matches its checksum. Under the claim of its key; or it counts if its sequence number does not change.
  bool is_whole(const Cell& cell) const {
    Header header;
    return inspect_whole(memory_, cell, header, chunk_words(),
                         [&](Location location) { return cells_.at(location); }) == Found::live;
  }
  void copy_key(const Header& header, const Cell& cell, std::byte* to) const {
    copy_words(cell.words + header.key_at(), header.key_bytes, to);
  }
  std::uint64_t cas_of(const Header& header, std::uint64_t sequence, const Cell& cell) const {
    return header.has_cas ? memory_.load(cell.words + kHeaderWords) : sequence;
  }
  /// Words of a value that lies in chunks, in each of them but the last.
  std::uint64_t chunk_words() const { return mapped_.heap.slab_bytes() / 8 - kChunkHeaderWords; }
  unsigned chunks_of(std::uint64_t value_bytes) const {
    return static_cast<unsigned>((value_bytes + 8 * chunk_words() - 1) / (8 * chunk_words()));
  }

  // Batches. Rows take effect in their order; memory is fetched for many of them before it is needed.
  /// `copy(row, header, state, sequence, cell)` as in `read`; `end(row, found)` when the row is done.
  template <class Copy, class End>
  void read(const ByteRows& keys, const Copy& copy, const End& end);
  /// The items that the index names for each key, whose keys the caller compares: `copy` for one, then `keep(row)` if it counts; `restart(row)` before
  /// those of a row, and again where a change came in between.
  template <class Copy, class Keep, class Restart>
  void read_candidates(const ByteRows& keys, const Copy& copy, const Keep& keep, const Restart& restart);
  /// `content(row)` and its key; `end(row, change)` when the row is done.
  template <class ContentOf, class End>
  void set(const ByteRows& keys, const ContentOf& content, Condition condition, const End& end);
  template <class End>
  void erase(const ByteRows& keys, const End& end);
  class Group;   ///< operations of several kinds: group.hpp
  class Lookup;  ///< many reads, in two steps: group.hpp

  // Values in place.
  /// Cells for a new item of `content`, whose value is not read. None: there is no memory.
  NewItem reserve(const Content& content);
  /// Where its value goes.
  std::vector<std::span<std::byte>> pieces_of(const NewItem& item);
  /// Gives its key the item, whose value was written. `sums`: of each chunk, or of the item, if they are known (value_sum.hpp).
  Change commit(NewItem item, std::span<const std::uint64_t> sums = {});
  void abort(const NewItem& item);
  /// An item whose cells are not used again until `end_lease`.
  struct Leased {
    Cell cell;  ///< none: the key has no item
    Header header;
    Value value;
    std::vector<std::span<const std::byte>> pieces;
  };
  /// False: too many cells are leased, and `leased` is none.
  bool lease(std::span<const std::byte> key, Leased& leased);
  /// The same of many keys: `leased(row)` is what row has, also where it answers false, or throws.
  bool lease(const ByteRows& keys, const std::function<Leased&(std::size_t row)>& leased);
  void end_lease(const Leased& leased);

  std::uint64_t now() { return counters_.refresh(); }
  void flush_all() { counters_.flush_all(); }
  void flush_all_at(std::uint64_t time) { counters_.flush_all_at(time); }
  /// Frees the cells of items that have expired or were flushed, in the pieces behind those of the last call that may have some: in so many
  /// pieces, or in more until it finds an item. Returns the number of items. 0: no piece has one.
  std::uint64_t reclaim(std::uint64_t pieces);

  std::uint64_t slabs() const { return slabs_.load(std::memory_order_acquire); }
  std::uint64_t newest() const { return counters_.newest(); }
  /// Begins a generation of items, when no change runs: later ones have larger numbers than `newest`, and lie in pieces of this generation.
  std::uint64_t next_generation() { return cells_.next_generation(); }
  /// Visits the items of a slab, if it may have some of this generation or later, with numbers in (from, to]. One that changes meanwhile is not
  /// visited. False: `visit` returned false.
  using Visit =
      std::function<bool(std::span<const std::byte> key, std::span<const std::byte> value, const Value& item)>;
  bool visit(std::uint64_t slab, std::uint64_t generation, std::uint64_t from, std::uint64_t to, const Visit& visit);
  /// From here on what lines of the heap had before they change is kept there, while no change runs; null: nowhere, at any time.
  void keep_in(OldLines* old) { memory_.keep_in(old); }
  /// While it holds, the record does not change, and time stands still.
  [[nodiscard]] std::unique_ptr<Counters::Hold> hold_record() { return counters_.hold(); }

  /// Verifies every item, when nothing changes. Returns what is damaged, at most `most` of it.
  std::vector<std::string> verify(std::size_t most, std::uint64_t& items);
  /// Frees the memory of items and pieces that were damaged at the opening, as far as no key has been set or erased that they read. Returns how many.
  std::uint64_t drop_damaged();
  std::uint64_t damaged() const { return damaged_.size(); }  ///< that it would drop

 private:
  class Parts;
  class BatchParts;
  struct Setting;
  static constexpr std::size_t kInFlight = 32;  ///< rows whose memory is fetched at once
  void copy_words(const std::uint64_t* from, std::uint64_t bytes, std::byte* to) const {
    std::uint64_t i = 0;
    if constexpr (Memory::kCopiesPairs) {
      for (; i + 2 <= bytes / 8; i += 2) Memory::copy_pair(from + i, to + 8 * i);
    }
    for (; i < bytes / 8; ++i) {
      const std::uint64_t word = memory_.load(from + i);
      std::memcpy(to + 8 * i, &word, 8);
    }
    if (bytes % 8 == 0) return;
    const std::uint64_t last = memory_.load(from + bytes / 8);
    std::memcpy(to + bytes / 8 * 8, &last, bytes % 8);
  }
  Key key_of(std::span<const std::byte> key) const;
  Key key_of(const std::byte* key, std::size_t bytes) const;
  /// Of a row; with the hash that the rows have, if they have them.
  template <class Keys>
  Key key_at(const Keys& keys, std::size_t row) const {
    if constexpr (requires { keys.key(row); }) {
      return keys.key(row);
    } else {
      return key_of(keys[row]);
    }
  }
  template <class P>
  Change set(P& parts, const Key& key, const Content& content, Condition condition, std::uint64_t cas);
  template <class P>
  NewItem begin_item(P& parts, const Content& content);
  struct Counting;
  template <class Copy, class End>
  void read_looked_up(const ByteRows& keys, const Copy& copy, const End& end);
  template <class P>
  Change change(P& parts, const Key& key, const Ask& ask, std::uint64_t& number);
  struct Finding;
  void add_entries(std::uint64_t piece, cuckoo::FreshRows& rows);
  void rebuild(cuckoo::cpu::CpuIndex& index);
  void enter_newest(cuckoo::cpu::CpuIndex& index, const cuckoo::Row& row);
  void recover();
  void look_at_piece(std::uint64_t piece, const Moment& moment, cuckoo::FreshRows& rows, Finding& finding);
  Key key_in(const std::uint64_t* cell, const Header& header) const;
  bool reads(const Cell& cell, const Key& key) const;
  void mend_chunk(const Cell& cell);
  void note_damaged(const Cell& cell);
  std::string describe_damage(const Cell& cell);
  Change extend_large(const Key& key, const Value& seen, std::span<const std::byte> added, bool before);
  Cell item_of(const Cell& cell) const;
  void note(Leased& leased, const Header& header, State state, std::uint64_t sequence, const Cell& cell) const;
  void name_pieces(Leased& leased);
  bool still_has(const Leased& leased) const;
  template <class Use>
  void each_cell_of(const Cell& cell, const Header& header, const Use& use) const {
    use(cell.location);
    for (unsigned i = 0; i < header.chunks; ++i) use(location_of_chunk(memory_, cell.words, header, i));
  }
  Cell take(std::uint64_t words);
  Cell take_kept(std::uint64_t words);
  Cell take_reclaimed(std::uint64_t words);
  bool grow();
  template <class P>
  bool reserve_large(P& parts, const Content& content, NewItem& item);
  bool may_be_over();
  bool may_hold(std::uint64_t value_bytes);
  template <class GoOn>
  void reclaim_in_turn(std::uint64_t most, const GoOn& go_on);
  std::uint64_t reclaim_piece(std::uint64_t piece, const Moment& moment);
  // Eviction.
  bool make_space(unsigned size_class);
  bool take_over_piece(unsigned size_class);
  bool free_piece(unsigned size_class);
  bool empty_piece(std::uint64_t piece);
  bool gather_pieces();
  CellSpace::Use use_of(std::uint64_t piece) const;
  void forget_reads(std::uint64_t piece);
  double pressure_of(unsigned size_class) const;
  std::uint64_t evict_some(std::span<const Cell> cells, bool spares_read);

  const Mapped mapped_;
  const EngineOptions options_;
  const Memory memory_;
  Counters counters_;
  EngineIndex index_;
  CellSpace cells_;
  CellStocks stocks_;
  Claims claims_;
  Recovered recovered_;
  Moment opened_;  ///< what was over then has no entry in the index
  Damaged damaged_;
  std::atomic<std::uint64_t> slabs_, evicted_ = 0;
  std::atomic<bool> is_full_ = false;  ///< the heap could not grow
  std::mutex growing_;
  std::array<std::atomic<std::uint64_t>, kClasses> pressure_{};  ///< items of a class that were evicted lately
  std::atomic<std::uint64_t> hand_ = 0;                          ///< the piece that may move to another class next
  std::mutex reclaiming_;           ///< of a look for items that are over; taken without a claim, since it claims keys
  std::uint64_t reclaimed_to_ = 0;  ///< the mutex's: the next piece
  std::uint64_t looked_flushed_ = 0;  ///< the mutex's: up to this number, flushed items were looked for in all pieces
  std::atomic<std::int64_t> looks_left_ =
      kGroupCells;  ///< with eviction, cells in which items that are over may be looked for
};

}  // namespace holdfast::store::cpu
