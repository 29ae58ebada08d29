// prefetch.hpp: asks for lines ahead of their use. Everything depends on `Tile`, so that files compiled for different
// instruction sets share none of it.
#pragma once

#include "pool/medium/persist.hpp"
#include "structures/gphash/protocol/address.hpp"

/// Before a function that is to be one with all that it calls. A sanitized build does without: it takes a compiler too long.
#if defined(HOLDFAST_SANITIZED)  // cmake/Defaults.cmake
#define HOLDFAST_FLATTEN
#else
#define HOLDFAST_FLATTEN [[gnu::flatten]]
#endif

namespace holdfast::gphash::cpu {

template <class Tile, class Shape>
struct Prefetch {
  using View = gphash::View<Shape>;
  using Candidates = gphash::Candidates<Shape>;

  /// Volatile, because GCC takes a function that only prefetches for one without effect, and drops calls of it.
  [[gnu::always_inline]] static void line(const void* address) {
    asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
  }

  /// The tags and the version lock of a key.
  static void tags(const View& view, const Candidates& candidates) {
    if (candidates.is_reserved()) return;
    tags(view, candidates, view.shape.hashes());
    if (group_bytes(view) > pool::kLine) line(candidates.version_lock(view));
  }
  /// The tags of its first `count` hash locations.
  static void tags(const View& view, const Candidates& candidates, unsigned count) {
    for (unsigned j = 0; j < count; ++j) {
      if (group_bytes(view) <= pool::kLine) {
        line(view.tags + view.version_lock_index(candidates.location(j)));
      } else {
        for (unsigned rank = 0; rank < view.shape.levels(); ++rank) line(candidates.tags(view, rank, j));
      }
    }
  }

 private:
  static unsigned group_bytes(const View& view) { return (8u << view.shape.levels()) * view.words_per_bucket(); }
};

}  // namespace holdfast::gphash::cpu
