// cpu_tables_test.cpp: tables on the CPU under the conformance suite: of every size of keys and values, with scores, and of pairs.
#include <unistd.h>

#include "conformance/suite.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

static_assert(PairTable<Table> && ScoredTable<Table> && SelfChecking<Table>);

struct CpuConfig {
  std::uint32_t value_bytes;
  std::uint32_t levels, hashes, slots;
  unsigned threads;
  bool flush;
  std::uint32_t key_bytes = 8;
  Score score = Score::none;
};

std::string name_of(const CpuConfig& c) {
  const bool pairs = c.key_bytes == kVariableBytes;
  return (pairs ? "pairs" : "value" + std::to_string(c.value_bytes)) + "_" + std::to_string(c.levels) + "L" +
         std::to_string(c.hashes) + "H" + std::to_string(c.slots) + "S_" + std::to_string(c.threads) + "t" +
         (c.flush ? "_power" : "") + (c.score == Score::none ? "" : std::string("_") + holdfast::name(c.score)) +
         (c.key_bytes == 8 || pairs ? "" : "_key" + std::to_string(c.key_bytes));
}

ConformanceSubject<Table> subject_of(const CpuConfig& c) {
  const std::string path = "/dev/shm/holdfast-conformance-" + std::to_string(getpid()) + ".hold";
  CreateOptions options;
  options.shape = {.key_bytes = c.key_bytes, .value_bytes = c.value_bytes, .capacity = 16};
  options.shape.levels = c.levels;
  options.shape.hash_locations = c.hashes;
  options.shape.slots = c.slots;
  options.shape.seed = 7;
  options.shape.score = c.score;
  options.runtime.device = "cpu";
  options.runtime.threads = c.threads;
  options.tuning.flush = c.flush;
  options.overwrite = true;
  OpenOptions again;
  again.runtime = options.runtime;
  again.tuning.flush = c.flush;
  // The file goes when the table does not need its name any more.
  struct Removed {
    std::string path;
    ~Removed() { unlink(path.c_str()); }
  };
  const auto removed = std::make_shared<Removed>(path);
  return {.name = name_of(c),
          .create = [removed, options] { return std::make_unique<Table>(Table::create(removed->path, options)); },
          .reopen = [removed, again] { return std::make_unique<Table>(Table::open(removed->path, again)); },
          .seed = 7,
          .score = c.score,
          .columns = c.key_bytes != kVariableBytes && c.value_bytes >= 4,
          .dense = c.hashes > 1 && c.key_bytes != kVariableBytes};
}

std::vector<ConformanceSubject<Table>> cpu_tables() {
  constexpr std::uint32_t kAny = kVariableBytes;
  std::vector<ConformanceSubject<Table>> subjects;
  for (const CpuConfig& config : std::vector<CpuConfig>{
           {0, 2, 2, 8, 1, false},         {1, 2, 2, 8, 1, false},          {4, 2, 2, 8, 2, false},
           {8, 2, 2, 8, 1, false},         {8, 2, 2, 8, 2, true},           {12, 2, 2, 8, 1, true},
           {24, 2, 2, 8, 2, true},         {128, 2, 2, 8, 2, false},        {300, 2, 2, 8, 2, false},
           {1000, 2, 2, 8, 1, false},      {8, 1, 4, 8, 1, false},          {24, 4, 2, 4, 1, false},
           {8, 1, 1, 32, 1, false},        {16, 3, 3, 3, 2, false},         {8, 1, 32, 1, 1, false},
           {8, 5, 3, 2, 1, false},         {8, 2, 2, 8, 2, false, 16},      {128, 2, 2, 8, 2, false, 16},
           {12, 2, 2, 8, 1, true, 16},     {0, 2, 2, 8, 1, false, 32},      {64, 2, 2, 8, 1, true, 32},
           {8, 4, 2, 4, 1, false, 24},     {24, 3, 3, 3, 2, false, 64},     {4, 2, 2, 8, 2, true, 128},
           {128, 2, 2, 8, 1, false, 128},  {8, 1, 1, 32, 1, false, 128},    {kAny, 2, 2, 8, 1, false, kAny},
           {kAny, 2, 2, 8, 3, true, kAny}, {kAny, 1, 2, 4, 2, false, kAny}, {kAny, 3, 2, 4, 2, true, kAny}}) {
    subjects.push_back(subject_of(config));
  }
  for (const auto& [score, value_bytes, key_bytes, flush] :
       std::vector<std::tuple<Score, std::uint32_t, std::uint32_t, bool>>{{Score::step, 4, 8, false},
                                                                          {Score::step, 24, 32, false},
                                                                          {Score::time, 8, 8, false},
                                                                          {Score::frequency, 0, 8, false},
                                                                          {Score::frequency, 4, 16, false},
                                                                          {Score::frequency, 8, 8, false},
                                                                          {Score::frequency, 24, 8, true},
                                                                          {Score::frequency, 300, 8, false}}) {
    subjects.push_back(subject_of({value_bytes, 2, 2, 8, 2, flush, key_bytes, score}));
  }
  return subjects;
}

const Conformance<Table> cpu_tables_registered("CpuTable", cpu_tables());

}  // namespace
}  // namespace holdfast::test
