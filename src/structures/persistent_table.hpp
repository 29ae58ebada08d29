// persistent_table.hpp: what every persistent hash table of the comparison offers: group hashing, and the schemes of its paper.
#pragma once

#include <concepts>
#include <cstdint>

#include "holdfast/status.hpp"
#include "structures/item.hpp"

namespace holdfast::structures {

/// What a recovery found and did.
struct Recovered {
  std::uint64_t items = 0;       ///< after it
  std::uint64_t duplicates = 0;  ///< second cells of an interrupted assignment, which it cleared
  std::uint64_t undone = 0;      ///< changes in an undo log, which it undid or finished
};

/// A table over a Memory. What a call acknowledges is durable when it returns. `insert`, `find`, `assign` and `erase` may be called by
/// several threads; `size` and `for_each` then see each group of cells at one moment.
template <class T>
concept PersistentTable = requires(T& table, const typename T::Key& key, const typename T::Value& value,
                                   typename T::Value& out,
                                   bool (*visit)(const typename T::Key&, const typename T::Value&)) {
  /// Adds an item. Returns inserted, exists (the value is kept), or no_space: the table must grow.
  { table.insert(key, value) } -> std::same_as<Status>;
  /// The same without a search. The caller promises that the key is absent; if it is not, the table holds it twice.
  { table.insert_new(key, value) } -> std::same_as<Status>;
  /// Reads a value. Returns found or not_found; both are durable.
  { table.find(key, out) } -> std::same_as<Status>;
  /// Replaces a value. Returns updated, not_found, or no_space.
  { table.assign(key, value) } -> std::same_as<Status>;
  /// Removes an item. Returns erased or not_found.
  { table.erase(key) } -> std::same_as<Status>;
  /// Items.
  { table.size() } -> std::same_as<std::uint64_t>;
  /// Calls `visit(key, value)` for every item, each once, until it returns false.
  table.for_each(visit);
  /// Finishes what a crash interrupted. The first call after an opening; may itself be interrupted and repeated.
  { table.recover() } -> std::same_as<Recovered>;
};

}  // namespace holdfast::structures
