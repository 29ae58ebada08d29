// selections.cuh: predicates for tests of device_selection.cuh, and the same on the host.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "cuda/users/sessions.cuh"
#include "holdfast/device_selection.cuh"

namespace holdfast::test {

/// The keys whose number can be divided.
template <class Key>
struct Divisible {
  std::uint64_t by;
  __device__ bool operator()(const Key& key) const { return *reinterpret_cast<const std::uint64_t*>(&key) % by == 0; }
  bool holds(std::uint64_t number) const { return number % by == 0; }
};

/// A third of the values, by their first and last byte.
struct FirstAndLast {
  std::uint32_t bytes;
  template <class Key>
  __device__ bool operator()(const Key&, const std::byte* value) const {
    return bytes == 0 || (static_cast<unsigned>(value[0]) + static_cast<unsigned>(value[bytes - 1])) % 3 == 0;
  }
  bool holds(const Value& value) const { return bytes == 0 || (value[0] + value[bytes - 1]) % 3 == 0; }
};

/// The same where the size of keys is not known when it is compiled, and of odd numbers alone.
struct OddAndFirst {
  __device__ bool operator()(const void* key, const std::byte* value) const {
    return *static_cast<const std::uint64_t*>(key) % 2 == 1 && static_cast<unsigned>(value[0]) % 2 == 0;
  }
};

/// Of scores below a limit.
struct Below {
  std::uint64_t limit;
  template <class Key>
  __device__ bool operator()(const Key&, std::uint64_t score) const {
    return score < limit;
  }
};

/// By the score and the first and last byte of what it sees of the value.
struct ByAll {
  std::uint32_t bytes;
  bool holds(const std::uint8_t* value, std::uint64_t score) const {
    return (value[0] + value[bytes - 1] + score) % 3 == 0;
  }
  template <class Key>
  __device__ bool operator()(const Key&, const std::byte* value, std::uint64_t score) const {
    return (static_cast<unsigned>(value[0]) + static_cast<unsigned>(value[bytes - 1]) + score) % 3 == 0;
  }
};

struct Every {
  template <class... Any>
  __device__ bool operator()(const Any&...) const {
    return true;
  }
};

using NumberedItems = std::map<std::uint64_t, Value>;

template <class Holds>
NumberedItems those(const NumberedItems& items, const Holds& holds) {
  NumberedItems chosen;
  for (const auto& [number, value] : items) {
    if (holds(number, value)) chosen.emplace(number, value);
  }
  return chosen;
}

/// What `export_if` gives, by number; each once.
template <class Key, class Predicate>
NumberedItems exported(GpuTable& gpu, cudaStream_t stream, const Predicate& predicate, std::uint64_t capacity,
                       std::uint64_t all, const DeviceSelection& selection = {}) {
  Table& table = gpu.table->table();
  const std::uint32_t bytes = table.value_bytes(), key_bytes = table.key_bytes();
  const std::vector<std::uint8_t> untouched((capacity + 1) * bytes, 0xcd);
  const OnGpu<Key> keys(capacity + 1);
  const OnGpu<std::uint8_t> values(untouched);
  const Chosen chosen = export_if<Key>(table, stream, predicate, keys.get(), values.get(), capacity, selection);
  EXPECT_EQ(chosen.all, all);
  EXPECT_EQ(chosen.given, std::min(all, capacity));
  EXPECT_EQ(chosen.complete(), all <= capacity);
  std::vector<std::byte> got_keys((capacity + 1) * key_bytes);
  std::vector<std::uint8_t> got_values((capacity + 1) * bytes + 1);
  keys.copy_to(reinterpret_cast<Key*>(got_keys.data()), chosen.given);
  values.copy_to(got_values.data());
  NumberedItems items;
  for (std::uint64_t i = 0; i < chosen.given; ++i) {
    const std::uint64_t number = gpu.table->number_of(got_keys.data() + i * key_bytes);
    const Value value(&got_values[i * bytes], &got_values[(i + 1) * bytes]);
    EXPECT_TRUE(items.emplace(number, value).second) << "key " << number << " twice";
  }
  EXPECT_TRUE(std::equal(got_values.begin() + static_cast<std::ptrdiff_t>(chosen.given * bytes), got_values.end() - 1,
                         untouched.begin()));  // and nothing behind them
  return items;
}

}  // namespace holdfast::test
