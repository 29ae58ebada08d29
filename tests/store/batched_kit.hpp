// batched_kit.hpp: engines over an index that has batches only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/strings.hpp"
#include "store/cpu/rows.hpp"
#include "store/engine_kit.hpp"
#include "structures/cuckoo/sharded_index.hpp"

namespace holdfast::store::cpu {

inline ByteRows engine_rows(const Strings& strings) {
  return {reinterpret_cast<const std::byte*>(strings.bytes()), strings.offsets(), strings.size()};
}

inline std::vector<Change> set_rows_of_engine(Engine& engine, const Strings& keys, const Strings& values) {
  std::vector<Change> changes(keys.size());
  const ByteRows rows = engine_rows(keys), its = engine_rows(values);
  const auto content = [&](std::size_t row) {
    Content content;
    content.key = rows[row].data();
    content.key_bytes = static_cast<std::uint16_t>(rows[row].size());
    content.value = its[row].data();
    content.value_bytes = static_cast<std::uint32_t>(its[row].size());
    return content;
  };
  engine.set(rows, content, Condition::none, [&](std::size_t row, Change change) { changes[row] = change; });
  return changes;
}

inline std::vector<std::optional<std::string>> get_rows_of_engine(Engine& engine, const Strings& keys) {
  std::vector<std::optional<std::string>> values(keys.size());
  const auto copy = [&](std::size_t row, const Header& header, State, std::uint64_t sequence, const Cell& cell) {
    values[row].emplace(header.value_bytes, '\0');
    return engine.copy_value(header, sequence, cell, reinterpret_cast<std::byte*>(values[row]->data()));
  };
  engine.read(engine_rows(keys), copy, [&](std::size_t row, bool found) {
    if (!found) values[row].reset();
  });
  return values;
}

inline std::unique_ptr<cuckoo::AnyIndex> make_stand_in(const cuckoo::cpu::CpuOptions& options, std::size_t shards) {
  if (shards == 1) return std::make_unique<StandInIndex>(options);
  std::vector<std::unique_ptr<cuckoo::AnyIndex>> made;
  for (std::size_t i = 0; i < shards; ++i) made.push_back(std::make_unique<StandInIndex>(options));
  return std::make_unique<cuckoo::ShardedIndex>(std::move(made), 2);
}

class BatchedIndex : public testing::Test {
 protected:
  /// The index has so many shards, which fail one at a time.
  EngineOptions options(std::size_t shards = 1) const {
    return {.index = {.capacity = 64, .threads = 1, .signature_bits = 16, .huge_pages = false},
            .evicts = false,
            .grow = {},
            .other_index = [shards](const cuckoo::cpu::CpuOptions& index) { return make_stand_in(index, shards); }};
  }
  static Mapped mapped(Heap& heap) { return {heap.view(), heap.record, 0x1234'5678}; }
  void SetUp() override { TearDown(); }
  void TearDown() override {
    StandIn::calls_left = -1;
    StandIn::most_entries = ~std::uint64_t{0};
    StandIn::calls = StandIn::rows = 0;
    StandIn::pause_us = 0;
  }
};

}  // namespace holdfast::store::cpu
