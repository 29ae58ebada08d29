// status.hpp: what became of one operation of a batch, one byte each.
#pragma once

#include <cstdint>

namespace holdfast {

/// The result of one operation. The numbers are part of the API (Python: `holdfastdb.Status`).
enum class Status : std::uint8_t {
  inserted = 0,   ///< the key was absent and is now there
  exists = 1,     ///< the key was there; its value was kept
  updated = 2,    ///< the key was there; its value was replaced or combined
  erased = 3,     ///< the key was there and is gone
  found = 4,      ///< a read found the key
  not_found = 5,  ///< the key is absent; nothing changed
  no_space = 6,   ///< the medium is full; this operation did nothing
  not_run = 7,    ///< masked out, or the batch was interrupted before it
};

inline constexpr unsigned kStatuses = 8;

/// The kinds of operation. The numbers are part of the API (Python: `holdfastdb.Op`).
enum class Op : std::uint8_t {
  insert = 0,            ///< adds a key; keeps an existing key's value       → inserted, exists
  insert_or_assign = 1,  ///< adds a key or replaces its value                → inserted, updated
  assign = 2,            ///< replaces the value of a key that is there       → updated, not_found
  find = 3,              ///< reads a value                                   → found, not_found
  contains = 4,          ///< asks for a key without reading its value        → found, not_found
  erase = 5,             ///< removes a key                                   → erased, not_found
  find_or_insert = 6,    ///< reads a value, or adds the one given            → found, inserted
  insert_and_find = 7,   ///< adds the value given, and reads what is there   → inserted, exists
  accumulate = 8,        ///< combines the value given into the one there,    → updated, inserted
                         ///< or adds it
};

inline constexpr unsigned kOps = 9;

constexpr bool changes(Op op) { return op != Op::find && op != Op::contains; }
constexpr bool reads_value(Op op) { return op == Op::find || op == Op::find_or_insert || op == Op::insert_and_find; }
constexpr bool takes_value(Op op) { return changes(op) && op != Op::erase; }

/// How `accumulate` combines two elements of a value.
enum class Combine : std::uint8_t { add = 0, min = 1, max = 2 };

/// The element type of a value, for `accumulate`. A value is an array of them. Integers wrap.
/// Sums of f16 (IEEE binary16) and bf16 (bfloat16) are taken in fp32 and rounded to nearest, ties to even.
enum class Element : std::uint8_t { i32 = 0, u32 = 1, i64 = 2, u64 = 3, f32 = 4, f64 = 5, f16 = 6, bf16 = 7 };

inline constexpr unsigned kElements = 8;

constexpr bool is_float(Element e) { return e >= Element::f32; }
constexpr unsigned element_bytes(Element e) {
  if (e == Element::f16 || e == Element::bf16) return 2;
  return e == Element::i32 || e == Element::u32 || e == Element::f32 ? 4 : 8;
}

}  // namespace holdfast
