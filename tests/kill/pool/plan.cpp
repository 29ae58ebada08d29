// plan.cpp: derives pools of many tables from seeds.
#include "kill/pool/plan.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {

PoolRound make_pool_round(std::uint64_t seed) {
  Random random(mix(seed, 0x706f));
  PoolRound round{};
  round.seed = seed;
  round.names = static_cast<std::uint32_t>(4 + random.below(kMostNames - 3));
  round.threads = random.chance(70) ? 1 : kPoolThreads;
  round.table_threads = random.chance(70) ? 1 : 2;
  round.flush = random.chance(30);
  return round;
}

std::string object_name(std::uint32_t index) {
  const std::string number = std::to_string(index);
  switch (index % 4) {
    case 0: return "t" + number;
    case 1: return "t" + std::to_string(index - 1) + ".new";
    case 2: return "größe " + number;
    default: return number + std::string(63 - number.size(), 'x');
  }
}

TableSizes shape_of(std::uint64_t seed) {
  constexpr std::array<std::uint32_t, 6> kKeyBytes{8, 8, 8, 16, 32, kVariableBytes};
  constexpr std::array<std::uint32_t, 5> kValueBytes{0, 8, 12, 100, 400};
  Random random(mix(seed, 0x7368));
  TableSizes shape;
  shape.key_bytes = kKeyBytes[random.below(kKeyBytes.size())];
  shape.value_bytes = kValueBytes[random.below(kValueBytes.size())];
  if (shape.key_bytes == kVariableBytes) shape.value_bytes = kVariableBytes;
  shape.capacity = random.chance(70) ? 16 + random.below(48) : 200 + random.below(1800);
  return shape;
}

std::uint32_t value_width(std::uint32_t value_bytes) { return value_bytes == kVariableBytes ? 12 : value_bytes; }

std::vector<ItemChange> changes_of(std::uint64_t seed) {
  Random random(mix(seed, 0x6974));
  std::array<std::uint32_t, kItems> order;
  for (std::uint32_t i = 0; i < kItems; ++i) order[i] = i;
  for (std::uint32_t i = kItems - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  const bool erases = random.chance(30);
  std::vector<ItemChange> changes(1 + random.below(random.chance(70) ? 8 : kItems));
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i] = {order[i], random.next(), erases};
  return changes;
}

std::string item_value(std::uint64_t version, std::uint32_t width) {
  std::string bytes(width, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = mix(version, at);
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
  return bytes;
}

}  // namespace holdfast::proof::kill
