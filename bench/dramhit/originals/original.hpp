// original.hpp: the interface of a shared library with the published code of another volatile table, which the study `originals`
// measures with ours. Such code is fetched and patched outside the project; an adapter exports `holdfast_volatile`, and includes only
// this file.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// A table with keys and values of one word, both never 0, for several threads. Strings are static.
struct HoldfastVolatile {
  const char* name;      ///< in documents and results; no spaces
  const char* commit;    ///< the repository and its commit
  const char* settings;  ///< compiler and options, and what differs from the published code
  /// Makes an empty table for `items` items, three quarters of a power of two, at a load factor of 0.75, its pages present. Null if it
  /// cannot.
  void* (*create)(std::uint64_t items);
  void (*destroy)(void* table);
  /// The table as one thread uses it.
  void* (*caller)(void* table);
  void (*release)(void* caller);
  /// Inserts or replaces; all are done when it returns.
  void (*put)(void* caller, const std::uint64_t* keys, const std::uint64_t* values, std::size_t count);
  /// Sets found[i] to 1 and values[i] for keys that are there; the others stay as they are.
  void (*get)(void* caller, const std::uint64_t* keys, std::uint64_t* values, unsigned char* found, std::size_t count);
  /// Adds values[i] to the values of keys that are there; all are done when it returns. Null: the table has no such operation.
  void (*add)(void* caller, const std::uint64_t* keys, const std::uint64_t* values, std::size_t count);
};

/// The only symbol that a library must export.
using HoldfastVolatileFunction = const HoldfastVolatile*();
}
