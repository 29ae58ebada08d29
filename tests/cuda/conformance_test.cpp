// conformance_test.cpp: tables on the GPU under the conformance suite: in one kernel and in phases, with copies of buckets and without, of wide
// keys, and of pairs.
#include "conformance/suite.hpp"
#include "fixture.hpp"

namespace holdfast::test {
namespace {

std::string name_of_shape(const Shape& s) {
  const bool pairs = s.key_bytes == kVariableBytes;
  return (pairs ? "pairs" : "value" + std::to_string(s.value_bytes)) + "_" + std::to_string(s.levels) + "L" +
         std::to_string(s.hashes) + "H" + std::to_string(s.slots) + "S" +
         (s.order_from == 0   ? ""
          : s.order_from == 1 ? "_phases"
                              : "_unordered") +
         (s.gpu_memory == 0 ? "_uncached" : "") +
         (s.key_bytes == 8 || pairs ? "" : "_key" + std::to_string(s.key_bytes));
}

/// Where it is durable, the GPU and the CPU open it by turns.
ConformanceSubject<Table> gpu_subject(const Shape& shape) {
  const auto path = std::make_shared<PoolPath>("-conformance");
  const auto opened = std::make_shared<unsigned>(0);
  ConformanceSubject<Table> subject;
  subject.name = name_of_shape(shape);
  subject.needs = [] {
    std::string why;
    return holdfast::cuda_devices(&why) == 0 ? why : std::string();
  };
  subject.create = [=] {
    auto table = std::make_unique<Table>(Table::create(path->str(), create_options(shape)));
    EXPECT_TRUE(table->on_gpu());
    return table;
  };
  subject.reopen = [=] {
    const char* const device = (*opened)++ % 2 == 0 ? "cuda" : "cpu";
    return std::make_unique<Table>(Table::open(path->str(), open_options(shape, device)));
  };
  subject.seed = kSeed;
  subject.columns = shape.key_bytes != kVariableBytes && shape.value_bytes >= 4;
  subject.dense = shape.hashes > 1 && shape.key_bytes != kVariableBytes;
  subject.small = true;
  return subject;
}

std::vector<ConformanceSubject<Table>> gpu_tables() {
  constexpr std::uint64_t kCached = kHalfOfFree;
  constexpr std::uint32_t kAny = kVariableBytes;
  std::vector<ConformanceSubject<Table>> subjects;
  for (const Shape& shape : std::vector<Shape>{Shape{0, 2, 2, 8},
                                               Shape{4, 2, 2, 8},
                                               Shape{8, 2, 2, 8},
                                               Shape{12, 2, 2, 8},
                                               Shape{128, 2, 2, 8},
                                               Shape{1000, 2, 2, 8},
                                               Shape{24, 4, 2, 4},
                                               Shape{8, 1, 4, 8},
                                               Shape{16, 3, 3, 3},
                                               Shape{12, 2, 2, 8, 1},
                                               Shape{128, 2, 2, 8, 1},
                                               Shape{1000, 2, 2, 8, 1},
                                               Shape{16, 3, 3, 3, 1},
                                               Shape{12, 2, 2, 8, kNeverOrdered},
                                               Shape{128, 2, 2, 8, kNeverOrdered},
                                               Shape{8, 2, 2, 8, 0, 0},
                                               Shape{128, 2, 2, 8, 0, 0},
                                               Shape{16, 3, 3, 3, 0, 0},
                                               Shape{0, 2, 2, 8, 0, kCached, 16},
                                               Shape{8, 2, 2, 8, 0, kCached, 128},
                                               Shape{128, 2, 2, 8, 0, kCached, 32},
                                               Shape{12, 2, 2, 8, 1, kCached, 24},
                                               Shape{128, 2, 2, 8, 1, kCached, 128},
                                               Shape{16, 3, 3, 3, 1, kCached, 64},
                                               Shape{8, 1, 4, 8, 0, kCached, 16},
                                               Shape{128, 2, 2, 8, 0, 0, 128},
                                               Shape{8, 2, 2, 8, 0, 0, 24},
                                               Shape{16, 3, 3, 3, 0, 0, 32},
                                               Shape{kAny, 2, 2, 8, 0, kCached, kAny},
                                               Shape{kAny, 2, 2, 8, 1, kCached, kAny},
                                               Shape{kAny, 2, 2, 8, kNeverOrdered, kCached, kAny},
                                               Shape{kAny, 2, 2, 8, 0, 0, kAny},
                                               Shape{kAny, 3, 2, 4, 1, kCached, kAny},
                                               Shape{kAny, 1, 4, 4, 0, 0, kAny}}) {
    subjects.push_back(gpu_subject(shape));
  }
  return subjects;
}

const Conformance<Table> gpu_tables_registered("GpuTable", gpu_tables());

}  // namespace
}  // namespace holdfast::test
