// rows.hpp: the rows of a batch: their arrays, those of one run, and what a run may use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/combine.hpp"
#include "holdfast/blobs.hpp"
#include "holdfast/status.hpp"
#include "structures/gphash/protocol/pair.hpp"

namespace holdfast::gphash {

/// The arrays of a batch, as the index reads them. All in memory that the machine can reach.
struct Rows {
  const std::byte* values = nullptr;  ///< (n, value_bytes)
  std::byte* out = nullptr;           ///< (n, value_bytes)
  Status* statuses = nullptr;
  bool* found = nullptr;
  const std::uint8_t* ops = nullptr;  ///< (n,) or null: all are `op`
  Op op = Op::find;
  Combine combine = Combine::add;
  Element element = Element::u64;
  std::uint32_t value_bytes = 0;    ///< of a row: of a whole value, or of the column
  std::uint32_t column = 0;         ///< where in the value a row's bytes begin
  bool partial = false;             ///< rows are a column: other bytes of a value stay, or are zero for a new key
  double scale = 1;                 ///< of what accumulate adds
  std::uint64_t score = 0;          ///< of a table with scores that are no frequencies: what a change sets
  std::uint64_t* scores = nullptr;  ///< (n,) or null, where nothing changes: the items' scores
  // Of variable-length pairs, instead of `value_bytes` and `out`:
  const std::uint64_t* value_offsets = nullptr;  ///< (n + 1,) where each of `values` begins
  Blob* blobs = nullptr;   ///< (n,) what reads return, or null; where memory notes reads, where that lies now
  Arena* arena = nullptr;  ///< where they lie
  bool verify = false;     ///< rows that meet a pair whose checksum is wrong do not run

  HOLDFAST_BOTH Op op_of(std::size_t row) const { return ops ? static_cast<Op>(ops[row]) : op; }
  HOLDFAST_BOTH const std::byte* value(std::size_t row) const { return values + row * value_bytes; }
  HOLDFAST_BOTH Part value_part(std::size_t row) const {
    if (value_offsets == nullptr) return {};
    return {values + value_offsets[row], static_cast<std::uint32_t>(value_offsets[row + 1] - value_offsets[row])};
  }
  HOLDFAST_BOTH Combining combining() const { return {combine, element, scale}; }
  HOLDFAST_BOTH std::byte* result(std::size_t row) const { return out ? out + row * value_bytes : nullptr; }
};

/// One operation on a key of fixed length in host memory: all that a batch with one row and no other arrays has.
struct OneRow {
  Op op;
  const void* key;
  const void* value;  ///< of an operation that takes one
  void* out;          ///< where one that reads puts the value, or null
};

/// The rows of one run, in array order: `indices[0..size)`, or the single row `first`.
template <class Index>
struct Run {
  const Index* indices = nullptr;
  std::size_t first = 0;
  std::size_t size = 1;
  HOLDFAST_BOTH std::size_t row(std::size_t i) const { return indices ? static_cast<std::size_t>(indices[i]) : first; }
};

/// What a run may use. A driver that could not grow the table runs it again with less, and `no_space` for the rest.
struct Permits {
  bool new_key = true;    ///< a slot, and a cell from those that inserts may take
  bool new_value = true;  ///< a cell for a key that is there
};

enum class Outcome : std::uint8_t {
  done,
  claim_missed,  ///< another operation holds the key: back in line
  needs_slot,    ///< every candidate slot is taken; nothing was changed
  needs_cell,    ///< the heap has no cell to give; nothing was changed
};

}  // namespace holdfast::gphash
