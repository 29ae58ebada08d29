// batch_operations.hpp: the operations that the rows of a batch ask for.
#pragma once

#include <cstddef>
#include <optional>

#include "core/operations.hpp"
#include "holdfast/batch.hpp"

namespace holdfast {

/// Those of a batch whose array of codes, if it has one, the host can read. `refuse(row, code)` throws for the code that no operation
/// has: of a row, or without one of the whole batch.
template <class Refuse>
OpSet operations_of(const Batch& batch, const Refuse& refuse) {
  OpSet ops;
  const auto add = [&](std::optional<std::size_t> row, unsigned code) {
    if (code >= kOps) {
      refuse(row, code);
      __builtin_unreachable();
    }
    ops.add(static_cast<Op>(code));
  };
  if (!batch.ops) add({}, static_cast<unsigned>(batch.op));
  for (std::size_t row = 0; batch.ops && row < batch.size; ++row) add(row, batch.ops[row]);
  return ops;
}

}  // namespace holdfast
