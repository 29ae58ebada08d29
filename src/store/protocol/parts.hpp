// parts.hpp: what one change of one key uses: the claims of keys, the index, cells, numbers and time (change.hpp).
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "store/protocol/item.hpp"

namespace holdfast::store {

/// A key, as callers give it.
struct Key {
  const std::byte* data = nullptr;
  std::uint16_t bytes = 0;
  std::uint64_t hash = 0;  ///< seeded
};

inline std::uint64_t hash_of(std::span<const std::byte> key, std::uint64_t seed) {
  return hash_bytes(key.size(), seed, [&](std::uint64_t i) { return padded_word(key.data(), key.size(), i); });
}

/// What counts when a search or a change begins.
struct Moment {
  std::uint64_t newest = 0;   ///< the largest sequence number that was drawn
  std::uint64_t now = 0;      ///< milliseconds since 1970; durable
  std::uint64_t flushed = 0;  ///< items with numbers up to it are dead

  /// Whether a live item counts no more: it has expired, or everything was flushed since.
  HOLDFAST_BOTH constexpr bool is_over(State state, std::uint64_t sequence) const {
    return sequence <= flushed || (state.expiry() != 0 && state.expiry() <= now);
  }
};

/// What may be known of a key before the index is asked, where that takes long.
struct Guess {
  Cell cell;               ///< where its item may be; none: nothing is known
  bool is_absent = false;  ///< the index names nothing for the key
};

/// What one change uses. All of it is volatile but what `memory()` stores into cells.
template <class P>
concept Parts = requires(P parts, Key key, Cell cell, Location location, std::uint64_t words) {
  requires ItemMemory<std::remove_reference_t<decltype(parts.memory())>>;  ///< that of the cells
  parts.claim(key);    ///< returns when no other change of the key runs, and none begins until `release`
  parts.release(key);  ///< ends it
  { parts.claimed(key) } -> std::convertible_to<bool>;  ///< a change of the key runs

  /// The cells that the index names for keys with this key's signature: `size`, and `cells[i]`. One that it names throughout is among them.
  { parts.candidates(key).size } -> std::convertible_to<unsigned>;
  { parts.candidates(key).cells[0] } -> std::convertible_to<Cell>;
  { parts.guess(key) } -> std::convertible_to<Guess>;  ///< under the claim; `is_absent`, if so, is of this moment
  { parts.latest(key) } -> std::convertible_to<Cell>;  ///< that of a change which the index may not have yet, or none
  { parts.names(key, location) } -> std::convertible_to<bool>;  ///< the index names it for this signature
  /// The index names `cell` for the key, instead of `old` unless that is none. Under the claim. False: it has no memory for the entry.
  { parts.exchange(key, location, location) } -> std::convertible_to<bool>;
  parts.remove(key, location);  ///< the index names it no more; under the claim

  { parts.at(location) } -> std::convertible_to<Cell>;            ///< where it lies now, or none
  { parts.chunk_words() } -> std::convertible_to<std::uint64_t>;  ///< of a value, in each chunk but the last
  { parts.take(words) } -> std::convertible_to<Cell>;             ///< a free cell of at least `words` words, or none
  parts.give(cell);  ///< it is free: its item is durably dead, or it has none
  {
    parts.take_damaged(key)
    } -> std::convertible_to<Cell>;  ///< a cell that was damaged at the opening and reads this key, once; or none
  parts.expires(location,
                words);  ///< the live item there ends at that time: volatile, so that its memory is found then
  {
    parts.draw()
    } -> std::convertible_to<std::uint64_t>;          ///< a sequence number larger than all before; never one twice
  { parts.moment() } -> std::convertible_to<Moment>;  ///< now
  { parts.time() } -> std::convertible_to<Moment>;    ///< the same without `newest`, which every change writes
  {
    parts.reaches(words)
    } -> std::convertible_to<bool>;  ///< whether that time, in milliseconds since 1970, has come: then `moment` says so
};

/// The claim of a key, if it `holds` one. What throws under it, as a look at the clock may that finds the medium lost, ends it too.
template <class P>
class Claim {
 public:
  HOLDFAST_BOTH Claim(P& parts, const Key& key, bool holds = true) : parts_(parts), key_(key), holds_(holds) {
    if (holds) parts.claim(key);
  }
  HOLDFAST_BOTH ~Claim() { end(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  HOLDFAST_BOTH void end() {
    if (holds_) parts_.release(key_);
    holds_ = false;
  }

 private:
  P& parts_;
  const Key& key_;
  bool holds_;
};

}  // namespace holdfast::store
