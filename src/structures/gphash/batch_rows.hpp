// batch_rows.hpp: the arrays of a batch as the index reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/batch.hpp"
#include "structures/gphash/protocol/rows.hpp"

namespace holdfast::gphash {

/// The arrays of a batch of variable length; null where keys and values have fixed lengths.
inline VariableLength parts_of(const Batch& batch) { return batch.variable.value_or(VariableLength{}); }

/// The rows of `batch` from `base` on, as far as they are in its own arrays of fixed length. `score`: what changes set.
inline gphash::Rows rows_of(const Batch& batch, std::size_t base, std::uint32_t value_bytes, std::uint64_t score) {
  const Column column = batch.column.value_or(Column{0, value_bytes});
  const Accumulate how = batch.accumulate.value_or(Accumulate{});
  const std::size_t offset = base * column.bytes;
  gphash::Rows rows;
  rows.value_bytes = column.bytes;
  rows.column = column.begin;
  rows.partial = column.bytes != value_bytes;
  if (batch.values) rows.values = static_cast<const std::byte*>(batch.values) + offset;
  if (batch.out) rows.out = static_cast<std::byte*>(batch.out) + offset;
  if (batch.statuses) rows.statuses = batch.statuses + base;
  if (batch.found) rows.found = batch.found + base;
  if (batch.scores) rows.scores = batch.scores + base;
  if (batch.ops) rows.ops = batch.ops + base;
  rows.op = batch.op;
  rows.combine = how.combine;
  rows.element = how.element;
  rows.scale = how.scale;
  rows.score = score;
  return rows;
}

}  // namespace holdfast::gphash
