// items.cpp: changes and reads tables, and compares.
#include "items.hpp"

#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

namespace holdfast::proof {

namespace {

/// A value: its key and version, over and over, so that one which is torn, or another key's, is seen.
std::vector<std::uint64_t> value_of(std::uint64_t key, std::uint64_t version, std::uint32_t bytes) {
  if (bytes == 8) return {key << 16 | version};
  std::vector<std::uint64_t> words;
  words.reserve(bytes / 8);
  for (std::uint32_t at = 0; at < bytes; at += 8) words.push_back(at % 16 == 0 ? key : version);
  return words;
}

/// The version of a key's value; none if it is no value of that key.
std::optional<std::uint64_t> version_of(std::uint64_t key, const std::uint64_t* value, std::uint32_t bytes) {
  const std::uint64_t version = bytes == 8 ? value[0] & 0xffff : value[1];
  const auto expected = value_of(key, version, bytes);
  if (std::memcmp(value, expected.data(), bytes) != 0) return std::nullopt;
  return version;
}

std::uint32_t pair_value_bytes(std::uint64_t key) { return key % 2 == 0 ? 16 : 16 << 10; }

/// All pairs, as exported.
Items pairs_of(Table& table, std::string& wrong) {
  Items items;
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    Blobs keys, values;
    const std::size_t got = table.export_pairs(cursor, &keys, &values, 64);
    for (std::size_t i = 0; i < got; ++i) {
      std::uint64_t key = 0;
      if (keys[i].size() == sizeof key) std::memcpy(&key, keys[i].data(), sizeof key);
      std::vector<std::uint64_t> value(values[i].size() / 8);
      std::memcpy(value.data(), values[i].data(), 8 * value.size());
      const bool long_enough = values[i].size() == pair_value_bytes(key);
      const auto version = long_enough ? version_of(key, value.data(), pair_value_bytes(key)) : std::nullopt;
      if (!version) wrong += "key " + std::to_string(key) + " has no value of its own; ";
      if (!items.emplace(key, version.value_or(0)).second) wrong += "a key is there twice; ";
    }
  }
  return items;
}

}  // namespace

void put_items(Table& table, std::uint64_t first, std::uint64_t last, std::uint64_t version, Items& items) {
  const bool variable = table.value_bytes() == kVariableBytes;
  std::vector<std::uint64_t> keys, values, key_offsets{0}, value_offsets{0};
  for (std::uint64_t key = first; key < last; ++key) {
    keys.push_back(key);
    const auto words = value_of(key, version, variable ? pair_value_bytes(key) : table.value_bytes());
    values.insert(values.end(), words.begin(), words.end());
    key_offsets.push_back(8 * keys.size());
    value_offsets.push_back(8 * values.size());
  }
  std::vector<Status> statuses(keys.size());
  Batch batch;
  batch.size = keys.size();
  batch.op = Op::insert_or_assign;
  batch.keys = keys.data();
  batch.values = values.data();
  batch.statuses = statuses.data();
  if (variable) {
    batch.variable = VariableLength{.key_offsets = key_offsets.data(), .value_offsets = value_offsets.data()};
  }
  table.run(batch);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i] == Status::inserted || statuses[i] == Status::updated) items[keys[i]] = version;
  }
}

void erase_items(Table& table, std::uint64_t first, std::uint64_t last, Items& items) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = first; key < last; ++key) keys.push_back(key);
  table.erase(keys.data(), keys.size());
  for (const std::uint64_t key : keys) items.erase(key);
}

Items items_of(Table& table, std::string& wrong) {
  constexpr std::size_t kRows = 64;
  const std::uint32_t bytes = table.value_bytes();
  if (bytes == kVariableBytes) return pairs_of(table, wrong);
  std::vector<std::uint64_t> keys(kRows), values(kRows * bytes / 8);
  Items items;
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t got = table.export_batch(cursor, keys.data(), values.data(), kRows);
    for (std::size_t i = 0; i < got; ++i) {
      const auto version = version_of(keys[i], values.data() + i * bytes / 8, bytes);
      if (!version) wrong += "key " + std::to_string(keys[i]) + " has no value of its own; ";
      if (!items.emplace(keys[i], version.value_or(0)).second) wrong += "a key is there twice; ";
    }
  }
  if (table.size() != items.size()) wrong += "size() says " + std::to_string(table.size()) + "; ";
  return items;
}

std::string compare(const Items& found, const PoolState* before, const PoolState* after) {
  if (before == nullptr || after == nullptr || before->made != after->made) {
    if ((before != nullptr && found == before->items) || (after != nullptr && found == after->items)) return {};
    return "it holds " + std::to_string(found.size()) + " items, neither the old ones nor the new";
  }
  std::set<std::uint64_t> keys;
  for (const Items* items : {&found, &before->items, &after->items}) {
    for (const auto& item : *items) keys.insert(item.first);
  }
  const auto version = [](const Items& items, std::uint64_t key) {
    const auto at = items.find(key);
    return at == items.end() ? std::optional<std::uint64_t>() : at->second;
  };
  for (const std::uint64_t key : keys) {
    const auto has = version(found, key), old = version(before->items, key), next = version(after->items, key);
    if (has == old || has == next) continue;
    return "key " + std::to_string(key) + (has ? " has version " + std::to_string(*has) : " is not there");
  }
  return {};
}

void must_be_in_order(const CheckReport& report) {
  if (!report.errors.empty()) throw std::logic_error("check: " + report.errors.front());
}

CreateOptions create_options(const Tables& tables, bool overwrite) {
  CreateOptions options;
  options.shape.value_bytes = tables.value_bytes;
  if (tables.value_bytes == kVariableBytes) options.shape.key_bytes = kVariableBytes;
  options.shape.capacity = tables.capacity;
  options.shape.score = tables.score;
  options.overwrite = overwrite;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  options.shape.seed = 42;
  return options;
}

OpenOptions open_options() {
  OpenOptions options;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  return options;
}

}  // namespace holdfast::proof
