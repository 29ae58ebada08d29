// original.hpp: the interface of a shared library with the published code of another table, which the study `originals` measures with
// ours. Such code is fetched and patched outside the project; an adapter exports `holdfast_original`, and includes only this file.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// How the table makes its stores durable: it calls `flush` where its code flushes, and `fence` where that code waits for flushes.
struct HoldfastPersistence {
  void* context;
  void (*flush)(void* context, const void* address, std::size_t bytes);
  void (*fence)(void* context);
};

/// A table with keys and values of one word. The study `originals` calls it from one thread, `durable-peers` from several at once.
/// Strings are static.
struct HoldfastOriginal {
  const char* name;      ///< in documents
  const char* commit;    ///< the repository and its commit
  const char* settings;  ///< compiler and options, and what differs from the published code
  /// Makes an empty table with about `cells` cells, which does not grow while it is filled to half. Without `persistence` nothing
  /// is flushed. Null if it cannot.
  void* (*create)(std::uint64_t cells, const HoldfastPersistence* persistence);
  void (*destroy)(void* table);
  std::uint64_t (*cells)(void* table);
  /// These return 1 if they succeed. 0 means that no cell is free (`insert`) or that the key is absent. Inserted keys are new.
  int (*insert)(void* table, std::uint64_t key, std::uint64_t value);
  int (*find)(void* table, std::uint64_t key, std::uint64_t* value);
  int (*erase)(void* table, std::uint64_t key);
};

/// The only symbol that a library must export.
using HoldfastOriginalFunction = const HoldfastOriginal*();
}
