// engine_kit.hpp: what tests of the store's engine share: a heap in memory, and calls with strings.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/cpu/engine.hpp"
#include "store/stand_in_index.hpp"

namespace holdfast::store::cpu {

/// A heap of so many pieces, and the record. It outlives engines: they reopen what a kill leaves.
struct Heap {
  explicit Heap(std::uint64_t pieces) : bytes((pieces + 1) * kPieceBytes), words(bytes / 8 + kLineBytes / 8) {}
  heap::View view() {
    const auto at = reinterpret_cast<std::uintptr_t>(words.data());
    return {reinterpret_cast<std::byte*>((at + kLineBytes - 1) / kLineBytes * kLineBytes), bytes / kPieceBytes};
  }
  std::uint64_t bytes;
  std::vector<std::uint64_t> words;
  alignas(64) std::uint64_t record[kRecordWords] = {};
};

constexpr unsigned kBatched = 0x100;  ///< added to a parameter: over an index that has batches only

/// The parameter: bits of a signature, so that keys collide.
class EngineTest : public testing::TestWithParam<unsigned> {
 protected:
  /// Of stores of many items, whose signatures must not all be equal: an index does not hold that.
  EngineOptions options_for_many(bool evicts) const {
    EngineOptions many = options(evicts);
    many.index.signature_bits = std::max(bits(), 12u);
    return many;
  }
  EngineOptions options(bool evicts = false) const {
    EngineOptions its{.index = {.capacity = 64, .threads = 1, .signature_bits = bits(), .huge_pages = false},
                      .evicts = evicts,
                      .grow = {},
                      .clock = [] { return time_now.load(); }};
    if ((GetParam() & kBatched) != 0) {
      its.other_index = [](const cuckoo::cpu::CpuOptions& index) { return std::make_unique<StandInIndex>(index); };
    }
    return its;
  }
  static unsigned bits() { return GetParam() & ~kBatched; }
  static Mapped mapped(Heap& heap) { return {heap.view(), heap.record, 0x1234'5678}; }
  void SetUp() override { time_now = 1000; }

  static inline std::atomic<std::uint64_t> time_now = 1000;
};

/// Of an instance.
inline std::string name_of(const testing::TestParamInfo<unsigned>& each) {
  const std::string bits = "signatures_of_" + std::to_string(each.param & ~kBatched) + "_bits";
  return (each.param & kBatched) != 0 ? bits + "_in_batches" : bits;
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline Change set(Engine& engine, const std::string& key, const std::string& value, std::uint32_t flags = 0,
                  std::uint64_t cas = 0, std::uint64_t expiry = 0) {
  Content content;
  content.key = bytes_of(key).data();
  content.key_bytes = static_cast<std::uint16_t>(key.size());
  content.value = bytes_of(value).data();
  content.value_bytes = static_cast<std::uint32_t>(value.size());
  content.flags = flags;
  content.cas = cas;
  content.expiry = expiry;
  return engine.set(content);
}

inline std::optional<std::string> get(Engine& engine, const std::string& key, Value* seen = nullptr) {
  static thread_local std::string space(1 << 20, '\0');
  Value value;
  if (!engine.get(bytes_of(key), std::as_writable_bytes(std::span(space)), value)) return std::nullopt;
  if (seen != nullptr) *seen = value;
  return space.substr(0, value.bytes);
}

}  // namespace holdfast::store::cpu
