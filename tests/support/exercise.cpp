// exercise.cpp: a user's whole day with one pool file.
#include "support/exercise.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "holdfast/table.hpp"
#include "support/random.hpp"

namespace holdfast::test {
namespace {

constexpr std::size_t kMostItems = 1 << 20;  ///< of a pool that a test makes, hostile ones included
constexpr unsigned kNewItems = 20;

std::string in_hex(const std::string& key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : key)
    (text += kDigits[static_cast<unsigned char>(c) / 16]) += kDigits[static_cast<unsigned char>(c) % 16];
  return text;
}

/// A key of a table's width made of a number.
std::string key_of(std::uint64_t number, std::size_t bytes) {
  std::string key(bytes, '\0');
  std::memcpy(key.data() + bytes - 8, &number, 8);
  return key;
}

bool any_length(const Table& table) { return table.key_bytes() == kVariableBytes; }

/// A batch over byte strings, on a table of any length.
void run(Table& table, Op op, const std::vector<std::string>& keys, const std::vector<std::string>& values,
         Status* statuses, bool* found, Blobs* blobs) {
  const auto pack = [](const std::vector<std::string>& strings, std::string& bytes) {
    std::vector<std::uint64_t> offsets{0};
    for (const std::string& string : strings) {
      bytes += string;
      offsets.push_back(bytes.size());
    }
    return offsets;
  };
  std::string key_bytes, value_bytes;
  const auto key_offsets = pack(keys, key_bytes), value_offsets = pack(values, value_bytes);
  Batch batch;
  batch.op = op;
  batch.size = keys.size();
  batch.keys = key_bytes.data();
  batch.variable = VariableLength{.key_offsets = key_offsets.data(),
                                  .value_offsets = values.empty() ? nullptr : value_offsets.data(),
                                  .blobs = blobs};
  batch.values = value_bytes.data();
  batch.statuses = statuses;
  batch.found = found;
  table.run(batch);
}

Items export_strings(Table& table, Exercised& result) {
  Items items;
  Blobs keys, values;
  std::size_t count = 0;
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t got = table.export_pairs(cursor, &keys, &values, 64);
    if (got > 64 || (count += got) > kMostItems) {
      result.wrong += "export does not end; ";
      break;
    }
    for (std::size_t i = 0; i < got; ++i) {
      const bool is_new = items.emplace(keys[i], values[i]).second;
      if (!is_new && !result.damage_reported) result.wrong += "a key was exported twice; ";
    }
  }
  return items;
}

void find_strings(Table& table, const Items& items, const char* when, Exercised& result) {
  std::vector<std::string> keys;
  for (const auto& item : items) keys.push_back(item.first);
  Blobs blobs;
  run(table, Op::find, keys, {}, nullptr, nullptr, &blobs);
  if (result.damage_reported) return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!blobs.has(i) || blobs[i] != items.at(keys[i])) {
      result.wrong += std::string(when) + ": key " + in_hex(keys[i]) + " is not found, or has another value; ";
    }
  }
  if (table.size() != items.size()) result.wrong += std::string(when) + ": size says something else; ";
}

void change_strings(Table& table, Items& items, Exercised& result) {
  std::vector<std::string> keys, values;
  for (unsigned i = 0; i < kNewItems; ++i) {
    keys.push_back(i == 0 ? std::string() : key_of(mix(0x6e6577, i), 8 + i));
    values.emplace_back(100 * i, static_cast<char>('a' + i));
  }
  std::vector<Status> statuses(kNewItems);
  run(table, Op::insert_or_assign, keys, values, statuses.data(), nullptr, nullptr);
  for (unsigned i = 0; i < kNewItems; ++i) {
    const bool stands = statuses[i] == Status::inserted || statuses[i] == Status::updated;
    if (stands) items[keys[i]] = values[i];
    if (!stands && statuses[i] != Status::no_space && !result.damage_reported)
      result.wrong += "an insert did not run; ";
  }
  if (items.empty()) return;  // there was room for none
  const std::string victim = items.rbegin()->first;
  run(table, Op::erase, {victim}, {}, statuses.data(), nullptr, nullptr);
  if (statuses[0] != Status::erased && !result.damage_reported) result.wrong += "a key could not be erased; ";
  items.erase(victim);
}

/// Finds every item; if no damage is reported, all of them must be there with their values.
void find_all(Table& table, const Items& items, const char* when, Exercised& result) {
  if (any_length(table)) return find_strings(table, items, when, result);
  const std::size_t bytes = table.value_bytes();
  std::string keys;
  for (const auto& item : items) keys += item.first;
  std::vector<char> values(items.size() * bytes + 1);
  const std::unique_ptr<bool[]> found(new bool[items.size() + 1]());
  table.find(keys.data(), values.data(), items.size(), found.get());
  if (result.damage_reported) return;
  std::size_t i = 0;
  for (const auto& [key, value] : items) {
    if (!found[i])
      result.wrong += std::string(when) + ": key " + in_hex(key) + " is not found; ";
    else if (value.compare(0, bytes, values.data() + i * bytes, bytes) != 0) {
      result.wrong += std::string(when) + ": key " + in_hex(key) + " has another value; ";
    }
    ++i;
  }
  if (table.size() != items.size()) {
    result.wrong += std::string(when) + ": size says " + std::to_string(table.size()) + " of " +
                    std::to_string(items.size()) + " items; ";
  }
}

/// Inserts new keys and erases an old one, in the table and in `items`.
void change(Table& table, Items& items, Exercised& result) {
  if (any_length(table)) return change_strings(table, items, result);
  const std::size_t bytes = table.value_bytes();
  std::string keys;
  std::vector<char> values(kNewItems * bytes + 1);
  for (unsigned i = 0; i < kNewItems; ++i) {
    keys += key_of(i == 0 ? 0 : mix(0x6e6577, i), table.key_bytes());
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(i * bytes), bytes, static_cast<char>('a' + i));
  }
  std::vector<Status> statuses(kNewItems);
  table.insert_or_assign(keys.data(), values.data(), kNewItems, statuses.data());
  for (unsigned i = 0; i < kNewItems; ++i) {
    const bool stands = statuses[i] == Status::inserted || statuses[i] == Status::updated;
    if (stands)
      items[keys.substr(i * table.key_bytes(), table.key_bytes())] = std::string(values.data() + i * bytes, bytes);
    if (!stands && statuses[i] != Status::no_space && !result.damage_reported)
      result.wrong += "an insert did not run; ";
  }
  if (items.empty()) return;  // there was room for none
  const std::string victim = items.rbegin()->first;
  table.erase(victim.data(), 1, statuses.data());
  if (statuses[0] != Status::erased && !result.damage_reported) result.wrong += "a key could not be erased; ";
  items.erase(victim);
}

Table open_table(const std::string& path, bool salvage) {
  OpenOptions options;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  options.salvage = salvage;
  return Table::open(path, options);
}

}  // namespace

bool answers(Exercised& result, const char* what, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    result.damage_reported = true;
    if (result.error.empty()) result.error = std::string(what) + ": " + error.what();
  } catch (const std::exception& error) {
    result.wrong += std::string(what) + " threw something that is no holdfast::Error: " + error.what() + "; ";
  }
  return false;
}

Items export_all(Table& table, Exercised& result) {
  if (any_length(table)) return export_strings(table, result);
  Items items;
  const std::size_t bytes = table.value_bytes();
  constexpr std::size_t kPiece = 64;
  const std::size_t key_bytes = table.key_bytes();
  std::vector<char> keys(kPiece * key_bytes);
  std::vector<char> values(kPiece * bytes + 1);
  std::size_t count = 0;
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t got = table.export_batch(cursor, keys.data(), values.data(), kPiece);
    if (got > kPiece || (count += got) > kMostItems) {
      result.wrong += "export does not end; ";
      break;
    }
    for (std::size_t i = 0; i < got; ++i) {
      const std::string key(keys.data() + i * key_bytes, key_bytes);
      const bool is_new = items.emplace(key, std::string(values.data() + i * bytes, bytes)).second;
      if (!is_new && !result.damage_reported) result.wrong += "key " + in_hex(key) + " exported twice; ";
    }
  }
  return items;
}

void exercise_table(Table& table, const Items* expected, Items& items, Exercised& result) {
  answers(result, "check", [&] {
    const CheckReport report = table.check();
    if (!report.errors.empty()) result.damage_reported = true;
    if (!report.repairs.empty()) result.repaired = true;
  });
  items = export_all(table, result);
  if (expected != nullptr && !result.damage_reported && items != *expected) {
    result.wrong += "the table holds other items than were put there; ";
  }
  find_all(table, items, "after open", result);
  change(table, items, result);
  find_all(table, items, "after changes", result);
  answers(result, "second check", [&] {
    const CheckReport report = table.check();
    if (!report.errors.empty() && !result.damage_reported) {
      result.wrong += "changes damaged the table: " + report.errors.front() + "; ";
    }
  });
  table.close();
}

Exercised exercise(const std::string& path, const Items* expected, bool salvage) {
  Exercised result, other;
  answers(other, "inspect", [&] { inspect(path); });
  answers(other, "check without opening", [&] { check(path); });
  result.wrong = other.wrong;
  Items items;
  answers(result, "open", [&] {
    Table table = open_table(path, salvage);
    result.opened = true;
    exercise_table(table, expected, items, result);
  });
  if (!result.opened) return result;
  answers(result, "open again", [&] {
    Table table = open_table(path, salvage);
    const Items again = export_all(table, result);
    if (!result.damage_reported && again != items) result.wrong += "reopened, the table holds other items; ";
    find_all(table, again, "reopened", result);
  });
  return result;
}

}  // namespace holdfast::test
