// pair_rows.hpp: tables on a GPU with keys and values of any length, and batches of them.
#pragma once

#include <string>
#include <vector>

#include "fixture.hpp"

namespace holdfast::test {

inline CreateOptions pair_options(std::uint64_t capacity, std::uint64_t order_from = 0,
                                  std::uint64_t gpu_memory = kHalfOfFree) {
  Shape shape;
  shape.key_bytes = shape.value_bytes = kVariableBytes;
  shape.order_from = order_from;
  shape.gpu_memory = gpu_memory;
  return create_options(shape, capacity);
}

/// Rows of keys, and of values for those that store some.
struct PairRows {
  void add(const std::string& key, const std::string& value = {}) {
    keys.add(key);
    values.add(value);
  }
  Batch batch(Op op) {
    statuses.assign(keys.size(), Status::no_space);
    Batch batch;
    batch.op = op;
    batch.size = keys.size();
    batch.keys = keys.bytes.data();
    batch.variable = VariableLength{.key_offsets = keys.offsets.data(), .value_offsets = values.offsets.data()};
    batch.values = values.bytes.data();
    batch.statuses = statuses.data();
    return batch;
  }
  Strings keys, values;
  std::vector<Status> statuses;
};

/// Numbered keys, with one value.
inline PairRows numbered_pairs(std::size_t n, std::size_t value_bytes, char fill) {
  PairRows rows;
  for (std::size_t i = 0; i < n; ++i) rows.add("key " + std::to_string(i), std::string(value_bytes, fill));
  return rows;
}

}  // namespace holdfast::test
