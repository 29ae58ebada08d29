// rows.hpp: the arrays of a batch on numbered keys, in host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "conformance/oracle.hpp"
#include "holdfast/batch.hpp"
#include "holdfast/blobs.hpp"

namespace holdfast::test {

struct Rows {
  static constexpr std::uint8_t kUntouched = 0xee;  ///< in `out`, until a row writes there
  Rows(std::size_t n, std::uint32_t bytes)
      : keys(n),
        ops(n),
        mask(n, 1),
        values(n * bytes + 1),
        out(n * bytes + 1, kUntouched),
        statuses(n),
        found(std::make_unique<bool[]>(n)),
        value_bytes(bytes) {}
  std::vector<std::uint64_t> keys;  ///< numbers
  std::vector<std::uint8_t> ops, mask, values, out;
  std::vector<Status> statuses;
  std::unique_ptr<bool[]> found;
  std::uint32_t value_bytes;                 ///< of a row
  std::vector<std::uint64_t> value_offsets;  ///< of values of any length; empty: each has value_bytes
  std::optional<Column> column;
  std::optional<Accumulate> accumulate;
  bool mixed = false;  ///< each row has an operation of its own
  Blobs blobs;         ///< what rows of any length read

  std::span<const std::uint8_t> value(std::size_t row) const {
    if (value_offsets.empty()) return {&values[row * value_bytes], value_bytes};
    return {&values[value_offsets[row]], value_offsets[row + 1] - value_offsets[row]};
  }
  Value read(std::size_t row) const { return {&out[row * value_bytes], &out[(row + 1) * value_bytes]}; }

  Batch batch() {
    Batch batch;
    batch.size = keys.size();
    batch.op = keys.empty() ? Op::find : static_cast<Op>(ops[0]);
    batch.ops = mixed ? ops.data() : nullptr;
    batch.keys = keys.data();
    batch.values = values.data();
    batch.out = out.data();
    batch.statuses = statuses.data();
    batch.found = found.get();
    batch.mask = mask.data();
    batch.column = column;
    batch.accumulate = accumulate;
    return batch;
  }
};

}  // namespace holdfast::test
