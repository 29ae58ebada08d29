// durable.cpp: our durable table on the CPU beside the one in memory, and its mixed batches beside its finds.
#include <unistd.h>

#include <string>
#include <vector>

#include "dramhit/rounds.hpp"
#include "dramhit/worker.hpp"
#include "holdfast/table.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::size_t kBatch = 4096;

class TableCaller final : public Caller {
 public:
  explicit TableCaller(Table& table) : table_(table) {}
  void run(Round& round) override {
    for (std::size_t at = 0; at < round.size; at += round.batch) {
      Batch batch;
      batch.size = std::min(round.batch, round.size - at);
      batch.op = round.op;
      if (round.by_row) batch.ops = round.ops + at;
      batch.keys = round.keys.data() + at;
      batch.values = round.values.data() + at;
      batch.out = round.out.data() + at;
      batch.statuses = round.statuses.data() + at;
      table_.run(batch);
    }
  }

 private:
  Table& table_;
};

/// In a pool file that goes with it. Each caller's batch runs on the caller's thread.
class TableSubject final : public Subject {
 public:
  TableSubject(std::string path, std::uint64_t capacity)
      : path_(std::move(path)), table_(Table::create(path_, options(capacity))) {}
  ~TableSubject() override {
    table_.close();
    unlink(path_.c_str());
  }
  std::unique_ptr<Caller> caller(bool) override { return std::make_unique<TableCaller>(table_); }

 private:
  static CreateOptions options(std::uint64_t capacity) {
    CreateOptions options;
    options.shape.capacity = capacity;
    options.runtime.device = "cpu";
    options.overwrite = true;
    options.runtime.threads = 1;
    return options;
  }
  const std::string path_;
  Table table_;
};

/// Get beside our durable table, whose mixed batches stand beside its finds.
Json study_durable(const Setup& setup) {
  const std::uint64_t round = std::uint64_t{16384} * setup.threads;
  const std::uint64_t items = std::max(setup.peer_items / round, std::uint64_t{1}) * round;  // in whole rounds
  const auto asked = [&](Ask ask, std::size_t batch) {
    Asked asked;
    asked.ask = ask;
    asked.items = items;
    asked.batch = batch;
    return asked;
  };
  progress("durable: filling both tables with " + std::to_string(items) + " items");
  TableSubject durable(setup.file, items);
  const double put = ask(durable, asked(Ask::put_new, kBatch), items, setup.threads).mops;
  const auto memory = subject("dramhit", items, setup);
  const double memory_put = ask(*memory, asked(Ask::put_new, 16), items, setup.threads).mops;

  std::vector<double> gets, finds, mixed;
  for (unsigned i = 0; i < setup.repetitions; ++i) {
    progress("durable: repetition " + std::to_string(i + 1));
    const auto rate = [&](Subject& table, Ask kind, std::size_t batch) {
      Asked what = asked(kind, batch);
      what.seed = i + 1;
      what.reads = 0.95;
      return ask(table, what, setup.operations, setup.threads).mops;
    };
    gets.push_back(rate(*memory, Ask::get, 16));
    finds.push_back(rate(durable, Ask::get, kBatch));
    mixed.push_back(rate(durable, Ask::rows, kBatch));
  }
  return {{"items", items},
          {"threads", setup.threads},
          {"batch", kBatch},
          {"file", setup.file},
          {"put_new_mops", spread({memory_put})},
          {"durable_put_new_mops", spread({put})},
          {"get_mops", spread(gets)},
          {"durable_find_mops", spread(finds)},
          {"durable_ycsb_b_mops", spread(mixed)},
          {"get_over_durable", spread(ratio_of(gets, finds))},
          {"ycsb_b_of_find", spread(ratio_of(mixed, finds))}};
}
const Study kDurable("durable", study_durable);

}  // namespace
}  // namespace holdfast::bench::dramhit
