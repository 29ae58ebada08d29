// memory_tables_test.cpp: tables in memory under the conformance suite, of every size of keys and values, and with each CPU's instructions.
#include "conformance/suite.hpp"
#include "holdfast/memory_table.hpp"
#include "support/tiles.hpp"

namespace holdfast::test {
namespace {

static_assert(BatchTable<MemoryTable> && !SelfChecking<MemoryTable>);

ConformanceSubject<MemoryTable> memory_subject(std::uint32_t key_bytes, std::uint32_t value_bytes,
                                               const char* tile = nullptr) {
  const auto create = [=] {
    const UseTile use(tile);
    return std::make_unique<MemoryTable>(
        MemoryOptions{.key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = 1000, .threads = 2, .seed = 5});
  };
  const std::string name = "key" + std::to_string(key_bytes) + "_value" + std::to_string(value_bytes);
  ConformanceSubject<MemoryTable> subject;
  subject.name = name + (tile == nullptr ? "" : std::string("_") + tile);
  subject.create = create;
  subject.seed = 5;
  return subject;
}

const Conformance<MemoryTable> memory_tables(
    "MemoryTable", {memory_subject(8, 8), memory_subject(8, 8, "avx2"), memory_subject(8, 8, "portable"),
                    memory_subject(8, 0), memory_subject(8, 4), memory_subject(8, 5), memory_subject(8, 64),
                    memory_subject(16, 8), memory_subject(24, 12), memory_subject(64, 64), memory_subject(64, 0)});

}  // namespace
}  // namespace holdfast::test
