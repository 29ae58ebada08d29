// parts.hpp: what the protocol of changes and searches uses on the CPU (protocol/change.hpp).
#pragma once

#include <array>
#include <charconv>

#include "core/hash.hpp"
#include "holdfast/error.hpp"
#include "store/cpu/engine.hpp"
#include "store/cpu/quoted.hpp"
#include "store/protocol/evict.hpp"
#include "store/protocol/search.hpp"

namespace holdfast::store::cpu {

class Engine::Parts {
 public:
  explicit Parts(Engine& engine) : engine_(engine) {}

  const Memory& memory() const { return engine_.memory_; }
  void claim(const Key& key) { engine_.claims_.claim(key.hash); }
  void release(const Key& key) { engine_.claims_.release(key.hash); }
  bool claimed(const Key& key) { return engine_.claims_.claimed(key.hash); }
  std::uint64_t claim_order(const Key& key) const { return engine_.claims_.number_of(key.hash); }

  struct Candidates {
    unsigned size = 0;
    Cell cells[cuckoo::kMostCandidates];
  };
  Candidates candidates(const Key& key) {
    // A file that another process cut off reads as zeros, which look like cells that change for ever.
    const bool tests = ++looks_ % kLooksBetweenTests == 0;
    if (tests && engine_.options_.require_whole) engine_.options_.require_whole();
    // Entries of other keys with this signature that wait to be replaced lead to free cells, which look the same.
    if (looks_ % kLooksBetweenFlushes == 0) engine_.index_.flush();
    Candidates found;
    for (bool stale = true; stale;) {  // ends: a location without a piece was replaced since the index was read
      cuckoo::Candidates list;
      engine_.index_.candidates({&key.hash, 1}, {&list, 1});
      stale = !cells_of(list, found);
      if (stale) engine_.index_.flush();
    }
    if (tests) require_chunks(key, found);
    return found;
  }
  /// False: a location is of a piece that was given away since the index named it.
  bool cells_of(const cuckoo::Candidates& list, Candidates& found) const {
    found.size = list.size;
    for (unsigned i = 0; i < list.size; ++i) {
      found.cells[i] = engine_.cells_.at({list.locations[i]});
      if (found.cells[i].none()) return false;
    }
    return true;
  }
  unsigned looks() const { return looks_; }  ///< calls of `candidates`
  /// Of an index whose changes wait in host memory, and of none other: where the last one put the item.
  Cell latest(const Key& key) const {
    const cuckoo::Location location = engine_.index_.revise(key.hash, cuckoo::kNone, 0).location;
    return location == cuckoo::kNone ? Cell{} : engine_.cells_.at({location});
  }
  Guess guess(const Key& key) const { return {latest(key), false}; }
  bool names(const Key& key, Location location) {
    using Names = cuckoo::DeferredIndex::Names;
    if (const Names known = engine_.index_.names(key.hash, location.word); known != Names::unknown) {
      return known == Names::yes;
    }
    cuckoo::Candidates list;
    engine_.index_.candidates({&key.hash, 1}, {&list, 1});
    for (unsigned i = 0; i < list.size; ++i) {
      if (list.locations[i] == location.word) return true;
    }
    return false;
  }
  bool exchange(const Key& key, Location old, Location next) {
    cuckoo::Outcome outcome{};
    engine_.index_.exchange({&key.hash, 1}, {&old.word, 1}, {&next.word, 1}, {&outcome, 1});
    HOLDFAST_ASSERT(outcome != cuckoo::Outcome::absent);
    if (!old.none() && engine_.options_.evicts) engine_.cells_.mark(next);  // a key that is changed is in use
    return outcome != cuckoo::Outcome::no_cell;
  }
  void remove(const Key& key, Location location) {
    cuckoo::Outcome outcome{};
    engine_.index_.erase({&key.hash, 1}, {&location.word, 1}, {&outcome, 1});
    HOLDFAST_ASSERT(outcome == cuckoo::Outcome::erased);
  }
  Cell at(Location location) const { return engine_.cells_.at(location); }
  std::uint64_t chunk_words() const { return engine_.chunk_words(); }
  Cell take(std::uint64_t words) { return engine_.take(words); }
  void give(const Cell& cell) { engine_.stocks_.give(cell); }
  Cell take_damaged(const Key& key) {
    return engine_.damaged_.take(key.hash, [&](const Cell& cell) { return engine_.reads(cell, key); });
  }
  void expires(Location location, std::uint64_t time) { engine_.cells_.expires(location, time); }
  std::uint64_t draw() { return engine_.counters_.draw(); }
  Moment moment() { return engine_.counters_.moment(); }
  Moment time() { return engine_.counters_.time(); }
  bool flushed_since(std::uint64_t flushed) { return engine_.counters_.flushed_since(flushed); }
  bool reaches(std::uint64_t time) { return engine_.counters_.reaches(time); }

 private:
  /// An item that does not have its chunks looks, to a search, like one that changes for ever.
  [[gnu::noinline, gnu::cold]] void require_chunks(const Key& key, const Candidates& found) {
    const Memory& memory = engine_.memory_;
    const auto at = [&](Location location) { return engine_.cells_.at(location); };
    for (unsigned i = 0; i < found.size; ++i) {
      const Cell& cell = found.cells[i];
      const std::uint64_t sequence = memory.load(cell.words + kSequenceWord);
      const State state{memory.load(cell.words + kStateWord)};
      const Header header = Header::of(memory.load(cell.words + kValueWord), memory.load(cell.words + kKeyWord));
      if (!state.is_live() || header.chunks == 0 || header.words() > cell.size) continue;
      if (visit_chunks(memory, cell, header, sequence, chunk_words(), at, [](auto...) {})) continue;
      if (!names(key, cell.location) || memory.load(cell.words + kSequenceWord) != sequence) continue;
      throw PoolCorrupt(engine_.options_.label + ": the item of the key " + quoted(key) +
                        " is damaged, and its value cannot be read: set the key again, or erase it");
    }
  }

  static constexpr unsigned kLooksBetweenTests = 1024, kLooksBetweenFlushes = 16;
  Engine& engine_;
  unsigned looks_ = 0;
};

/// What becomes of a key that is set.
struct Engine::Setting {
  const Memory& memory;
  const Content& content;
  Condition condition;
  std::uint64_t cas;

  Change operator()(const Current& old, Content& next) const {
    const bool there = old.is_there();
    if (there && condition == Condition::absent) return Change::exists;
    if (!there && (condition == Condition::present || condition == Condition::cas)) return Change::not_found;
    if (condition == Condition::cas && old.cas(memory) != cas) return Change::mismatch;
    next = content;
    return there ? Change::replaced : Change::inserted;
  }
};

/// A new item like `old`, but for its value.
inline Content content_like(const Current& old, const Key& key, const std::byte* value, std::size_t bytes) {
  Content next;
  next.key = key.data;
  next.key_bytes = key.bytes;
  next.value = value;
  next.value_bytes = static_cast<std::uint32_t>(bytes);
  next.flags = old.header.flags;
  next.expiry = old.state.expiry();
  return next;
}

/// A decimal number below 2^64.
using Digits = std::array<char, 20>;
/// Of an item that has one.
inline std::uint64_t counted_words(std::uint16_t key_bytes) {
  return Header{0, Digits().size(), key_bytes, false, 0}.words();
}

/// What becomes of a key whose value, a number, is changed. `result` becomes the new one.
struct Engine::Counting {
  const Engine& engine;
  const Key& key;
  std::uint64_t by;
  bool subtracts;
  std::uint64_t& result;
  Digits& digits;  ///< where the content is

  Change operator()(const Current& old, Content& next) const {
    if (!old.is_there()) return Change::not_found;
    if (old.header.value_bytes > digits.size() || old.header.value_bytes == 0) return Change::mismatch;
    if (!engine.is_whole(old.cell)) return Change::damaged;
    engine.copy_value(old.header, old.sequence, old.cell, reinterpret_cast<std::byte*>(digits.data()));
    std::uint64_t value = 0;
    const char* const end = digits.data() + old.header.value_bytes;
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) return Change::mismatch;
    result = !subtracts ? value + by : value < by ? 0 : value - by;
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), result);
    next = content_like(old, key, reinterpret_cast<const std::byte*>(digits.data()),
                        static_cast<std::size_t>(written.ptr - digits.data()));
    return Change::replaced;
  }
};

/// As `reserve_item`, of a value in chunks.
template <class P>
bool Engine::reserve_large(P& parts, const Content& content, NewItem& item) {
  return may_hold(content.value_bytes) && reserve_item(parts, content, chunks_of(content.value_bytes), item);
}

/// Cells for the content, and in them the value if that is large. None: there is no memory.
template <class P>
NewItem Engine::begin_item(P& parts, const Content& content) {
  NewItem item;
  const std::uint64_t words = content.header().words();
  if (8 * words <= mapped_.heap.slab_bytes()) {
    item.cell = parts.take(words);
    if (!item.cell.none()) vacate(memory_, item.cell.words);
    return item;
  }
  if (!reserve_large(parts, content, item)) return {};
  visit_value(parts, item, [&](std::uint64_t* to, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      memory_.store(to + i, padded_word(content.value, content.value_bytes, first + i));
    }
  });
  sum_item(parts, item);
  return item;
}

template <class P>
Change Engine::set(P& parts, const Key& key, const Content& content, Condition condition, std::uint64_t cas) {
  const Setting decide{memory_, content, condition, cas};
  const std::uint64_t words = content.header().words();
  if (8 * words <= mapped_.heap.slab_bytes()) return put(parts, key, words, decide);
  const NewItem item = begin_item(parts, content);
  return item.cell.none() ? put_nothing(parts, key, decide) : put(parts, key, item, decide);
}

template <class P>
Change Engine::change(P& parts, const Key& key, const Ask& ask, std::uint64_t& number) {
  switch (ask.kind) {
    case Ask::Kind::count: {
      Digits digits;
      std::uint64_t result = 0;
      const Counting decide{*this, key, ask.number, ask.subtracts, result, digits};
      const Change change = put(parts, key, counted_words(key.bytes), decide);
      if (change == Change::replaced) number = result;
      return change;
    }
    case Ask::Kind::erase:
      return store::erase(parts, key, [&](const Current& old) { return ask.cas == 0 || old.cas(memory_) == ask.cas; });
    case Ask::Kind::touch:
      return change_state(parts, key, [&](const Current& old) {
        cells_.mark(old.cell.location);
        return old.state.with_expiry(ask.number);
      });
    case Ask::Kind::mark_stale:
      return change_state(parts, key, [&](const Current& old) {
        return old.state.stale().with_expiry(ask.number != 0 ? ask.number : old.state.expiry());
      });
    case Ask::Kind::set: break;
  }
  return set(parts, key, ask.content, ask.condition, ask.cas);
}

template <class Copy>
bool Engine::read(std::span<const std::byte> key, const Copy& copy) {
  Parts parts(*this);
  const Cell found = find(parts, key_of(key), copy);
  if (!found.none()) cells_.mark(found.location);
  return !found.none();
}

template <class Copy>
Change Engine::get_and_touch(std::span<const std::byte> key, std::uint64_t expiry, const Copy& copy, State& state) {
  Parts parts(*this);
  Location read;
  const auto mark = [&](const Header& header, State its, std::uint64_t sequence, const Cell& cell) {
    read = cell.location;
    return copy(header, its, sequence, cell);
  };
  const Change change = store::get_and_touch(parts, key_of(key), expiry, mark, state);
  if (change == Change::touched) cells_.mark(read);
  return change;
}

}  // namespace holdfast::store::cpu
