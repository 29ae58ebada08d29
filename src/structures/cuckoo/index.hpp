// index.hpp: the concept `Index`: from a key's hash to the locations of items that may be the key's, in batches.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "structures/cuckoo/entry.hpp"
#include "structures/cuckoo/search.hpp"

namespace holdfast::cuckoo {

/// All locations with one signature.
struct Candidates {
  std::uint32_t size = 0;
  Location locations[kMostCandidates];
};

/// A volatile index over (signature, location) entries, for callers that compare the keys themselves. Arrays of a batch have equal sizes, and
/// the index does not keep them. Batches of several threads run side by side; keys of changing rows that run at the same time, in one batch or
/// in several, are distinct: the caller holds the claim of each. Throws InvalidArgument for arrays of unequal sizes, before anything is done.
template <class I>
concept Index = requires(I& index, const I& unchanged, std::span<const Hash> hashes, std::span<const Location> in,
                         std::span<Location> out, std::span<Candidates> lists, std::span<Outcome> outcomes,
                         std::uint64_t size) {
  /// Per row one location with the key's signature; kNone: the key was absent at some moment of the call.
  {unchanged.search(hashes, out)};
  /// Per row all of them: needed where the item that `search` led to has another key. An entry present throughout is among them.
  {unchanged.candidates(hashes, lists)};
  /// Per row: replaces the key's location `in` by another, or, where `in` is kNone, inserts an entry. Once the call has returned no search
  /// finds the location replaced. The index grows as needed and drops nothing: `no_cell` is the outcome of a row where memory for growth
  /// is lacking, and such a row changed nothing.
  {index.exchange(hashes, in, in, outcomes)};
  /// Per row: removes the key's entry with location `in`. Once the call has returned no search finds it.
  {index.erase(hashes, in, outcomes)};
  /// Grows for at least so many entries in all. Throws NoSpace, perhaps after a part of the growth; no entry is lost.
  {index.reserve(size)};
  { unchanged.size() } -> std::same_as<std::uint64_t>;   ///< entries
  { unchanged.cells() } -> std::same_as<std::uint64_t>;  ///< that exist now
};

}  // namespace holdfast::cuckoo
