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

}  // namespace

void put_items(Table& table, std::uint64_t first, std::uint64_t last, std::uint64_t version, Items& items) {
  std::vector<std::uint64_t> keys, values;
  for (std::uint64_t key = first; key < last; ++key) {
    keys.push_back(key);
    const auto words = value_of(key, version, table.value_bytes());
    values.insert(values.end(), words.begin(), words.end());
  }
  std::vector<Status> statuses(keys.size());
  table.insert_or_assign(keys.data(), values.data(), keys.size(), statuses.data());
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
  options.value_bytes = tables.value_bytes;
  options.capacity = tables.capacity;
  options.score = tables.score;
  options.overwrite = overwrite;
  options.device = "cpu";
  options.threads = 1;
  options.seed = 42;
  return options;
}

OpenOptions open_options() {
  OpenOptions options;
  options.device = "cpu";
  options.threads = 1;
  return options;
}

}  // namespace holdfast::proof
