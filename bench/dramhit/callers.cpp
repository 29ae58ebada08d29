// callers.cpp: handles of all threads beside one caller's batches, and what an erase costs beside a put.
#include <algorithm>
#include <string>
#include <vector>

#include "dramhit/alternation.hpp"
#include "holdfast/memory_table.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::size_t kCallersBatch = std::size_t{1} << 20;  ///< rows of a batch of the one caller
constexpr std::size_t kHandleRows = 16384;                   ///< of a round of a handle
constexpr std::uint64_t kPart = 8;                           ///< the eighth part of the items is erased first

/// One caller, whose batches the table divides among its threads.
class BatchCaller final : public Caller {
 public:
  explicit BatchCaller(MemoryTable& table) : table_(table) {}
  void run(Round& round) override {
    Batch batch;
    batch.size = round.size;
    batch.op = round.op;
    batch.keys = round.keys.data();
    batch.values = round.values.data();
    batch.out = round.out.data();
    batch.statuses = round.statuses.data();
    table_.run(batch);
  }

 private:
  MemoryTable& table_;
};

class BatchSubject final : public Subject {
 public:
  BatchSubject(std::uint64_t capacity, const Setup& setup) : table_(options(capacity, setup)) {}
  std::unique_ptr<Caller> caller(bool) override { return std::make_unique<BatchCaller>(table_); }

 private:
  static MemoryOptions options(std::uint64_t capacity, const Setup& setup) {
    MemoryOptions options;
    options.capacity = capacity;
    options.threads = setup.threads;
    options.populate = true;
    options.depth = setup.depth;
    return options;
  }
  MemoryTable table_;
};

/// One table, and the threads that ask it.
struct Side {
  const char* name;
  std::unique_ptr<Subject> subject;
  unsigned callers;
  std::size_t rows;
};

struct Step {
  const char* name;
  Ask kind;
  std::uint64_t first, operations;  ///< of those of which each item is asked once, the first item
};

/// All steps on both tables in turns.
void ask_both(std::vector<Side>& sides, const std::vector<Step>& steps, std::uint64_t items,
              const Distribution& zipfian, Figures& figures) {
  for (const Step& step : steps) {
    progress(std::string("callers: ") + step.name);
    for (Side& side : sides) {
      Asked asked;
      asked.ask = step.kind;
      asked.items = items;
      asked.first = step.first;
      if (step.name == std::string("upsert_zipfian")) asked.distribution = &zipfian;
      const Measured measured = ask(*side.subject, asked, step.operations, side.callers, side.rows);
      figures[std::string(side.name) + "_" + step.name].push_back(measured.mops);
    }
  }
}

/// Handles of all threads, and batches of one caller with as many threads. Erases of the first items, where the table is three quarters
/// full, and of the rest.
Json study_callers(const Setup& setup) {
  const std::size_t batch = setup.items < 16 * kCallersBatch ? kHandleRows : kCallersBatch;
  const std::uint64_t round = kPart * batch * setup.threads;  // whole rounds of both
  const std::uint64_t items = std::max(setup.items / round, std::uint64_t{1}) * round, part = items / kPart;
  const Distribution zipfian(Popularity::zipfian, items, 1.09);
  const std::vector<Step> steps = {
      {"put_new", Ask::put_new, 0, items},          {"get", Ask::get, 0, setup.operations},
      {"absent", Ask::absent, 0, setup.operations}, {"put", Ask::put, 0, setup.operations},
      {"upsert", Ask::upsert, 0, setup.operations}, {"upsert_zipfian", Ask::upsert, 0, setup.operations},
      {"erase_full", Ask::erase, 0, part},          {"erase_rest", Ask::erase, part, items - part}};
  Figures figures;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    progress("repetition " + std::to_string(i + 1));
    std::vector<Side> sides;
    sides.push_back({"handles", subject("dramhit", items, setup), setup.threads, kHandleRows});
    sides.push_back({"batches", std::make_unique<BatchSubject>(items, setup), 1, batch});
    ask_both(sides, steps, items, zipfian, figures);
  }
  for (const Step& step : steps) {
    ratio(figures, std::string(step.name) + "_batches_over_handles", std::string("batches_") + step.name,
          std::string("handles_") + step.name);
  }
  for (const char* const erase : {"erase_full", "erase_rest"}) {
    ratio(figures, std::string(erase) + "_over_put", std::string("handles_") + erase, "handles_put");
  }
  return {{"items", items}, {"threads", setup.threads}, {"batch", batch}, {"mops", spreads(figures)}};
}
const Study kCallers("callers", study_callers);

}  // namespace
}  // namespace holdfast::bench::dramhit
