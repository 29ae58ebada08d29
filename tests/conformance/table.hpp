// table.hpp: what the conformance suite asks of a table, as concepts.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "holdfast/batch.hpp"
#include "holdfast/blobs.hpp"
#include "holdfast/pool.hpp"

namespace holdfast::test {

/// A table of keys of one length and values of one length, or of any length (kVariableBytes, with PairTable).
template <class T>
concept BatchTable = requires(T& table, const T& same, const Batch& batch, std::uint64_t& cursor, void* to,
                              std::uint64_t n) {
  /// Does the rows that the mask leaves; those with equal keys, reads among them, in array order.
  { table.run(batch) } -> std::same_as<BatchResult>;
  /// Copies up to `n` keys and values, from `cursor` on, which 0 begins and ~0 ends; each item once.
  { table.export_batch(cursor, to, to, std::size_t{n}) } -> std::same_as<std::size_t>;
  { same.size() } -> std::same_as<std::uint64_t>;   ///< items
  { same.slots() } -> std::same_as<std::uint64_t>;  ///< items that it could have without growing
  { same.key_bytes() } -> std::same_as<std::uint32_t>;
  { same.value_bytes() } -> std::same_as<std::uint32_t>;
  table.clear();     ///< removes every item
  table.reserve(n);  ///< makes space for `n` items in all: `slots` says so
};

/// It may have keys and values of any length.
template <class T>
concept PairTable = BatchTable<T> && requires(T& table, std::uint64_t& cursor, Blobs* to) {
  /// As export_batch.
  { table.export_pairs(cursor, to, to, std::size_t{}) } -> std::same_as<std::size_t>;
};

/// It can verify itself.
template <class T>
concept SelfChecking = requires(T& table) {
  { table.check() } -> std::same_as<CheckReport>;
};

/// It may keep a score with each item.
template <class T>
concept ScoredTable = BatchTable<T> && requires(T& table, const std::byte* keys, std::uint64_t* scores, bool* found) {
  table.set_step(std::uint64_t{});                   ///< the score of what changes from now on
  table.scores(keys, scores, std::size_t{}, found);  ///< of keys; 0 where absent
};

}  // namespace holdfast::test
