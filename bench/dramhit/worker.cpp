// worker.cpp: draws the keys of a round, and checks what came back.
#include "dramhit/worker.hpp"

#include <string>

#include "holdfast/error.hpp"

namespace holdfast::bench::dramhit {
namespace {

constexpr std::uint64_t kKeySeed = 3;

class TableWorker final : public Worker {
 public:
  TableWorker(Subject& subject, const Asked& asked, unsigned number, unsigned threads)
      : asked_(asked),
        number_(number),
        threads_(threads),
        random_(asked.seed * 1000 + number),
        caller_(subject.caller(asked.silent)) {
    round_.batch = asked.batch;
    round_.silent = asked.silent;
    round_.pollutes = asked.pollutes;
    if (asked.pollutes == 0) return;
    polluted_.resize(std::size_t{256} << 20);
    round_.polluted = polluted_.data();
    round_.polluted_lines = polluted_.size() / 64;
  }

  void prepare(std::uint64_t round, std::size_t rows) override {
    resize(rows);
    round_.op = op_of(asked_.ask);
    for (std::size_t i = 0; i < rows; ++i) {
      round_.keys[i] = key_of(item(round, rows, i), kKeySeed);
      round_.values[i] = asked_.ask == Ask::upsert || asked_.ask == Ask::mixed ? 0
                         : asked_.ask == Ask::count                            ? 1
                                                                               : value_of(round_.keys[i]);
      round_.ids[i] = i;
      round_.statuses[i] = Status::not_run;
    }
    if (asked_.ask == Ask::rows) {
      for (std::uint8_t& op : ops_) {
        op = static_cast<std::uint8_t>(random_.real() < asked_.reads ? Op::find : Op::assign);
      }
      round_.ops = ops_.data();
      round_.by_row = true;
    }
    if (asked_.ask != Ask::mixed) return;
    for (std::size_t i = 0; i < rows; i += asked_.batch) {
      const Op op = random_.real() < asked_.reads ? Op::find : Op::accumulate;
      for (std::size_t j = i; j < std::min(rows, i + asked_.batch); ++j) ops_[j] = static_cast<std::uint8_t>(op);
    }
    round_.ops = ops_.data();
  }

  void run() override { caller_->run(round_); }
  void run_stamped(std::vector<std::uint64_t>& cycles) {
    round_.cycles = &cycles;
    caller_->run(round_);
  }

  std::uint64_t check() override {
    if (asked_.silent && asked_.ask != Ask::get) return 0;  // what they made is checked by searches
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < round_.size; ++i) {
      const std::uint64_t row = round_.ids[i];
      if (row >= round_.size) {
        ++wrong;
        continue;
      }
      const bool reads = asked_.ask == Ask::get || (is_mixed() && static_cast<Op>(ops_[row]) == Op::find);
      wrong += reads ? round_.statuses[i] != Status::found || round_.out[i] != value_of(round_.keys[row])
                     : round_.statuses[i] != expected();
    }
    return wrong;
  }

 private:
  static Op op_of(Ask ask) {
    switch (ask) {
      case Ask::put_new: return Op::insert;
      case Ask::erase: return Op::erase;
      case Ask::put: return Op::assign;
      case Ask::upsert:
      case Ask::count: return Op::accumulate;
      default: return Op::find;
    }
  }
  bool is_mixed() const { return asked_.ask == Ask::mixed || asked_.ask == Ask::rows; }
  Status expected() const {
    if (asked_.ask == Ask::put_new) return Status::inserted;
    if (asked_.ask == Ask::erase) return Status::erased;
    return asked_.ask == Ask::absent ? Status::not_found : Status::updated;
  }

  std::uint64_t item(std::uint64_t round, std::size_t rows, std::size_t i) {
    const std::uint64_t turn = (round * threads_ + number_) * rows + i;
    switch (asked_.ask) {
      case Ask::put_new:
      case Ask::erase: return asked_.first + turn;
      case Ask::absent: return kAbsentItem + turn;
      default: break;
    }
    return asked_.distribution != nullptr ? asked_.distribution->draw(random_, asked_.items, turn)
                                          : random_.below(asked_.items);
  }

  void resize(std::size_t rows) {
    round_.size = rows;
    round_.keys.resize(rows);
    round_.values.resize(rows);
    round_.ids.resize(rows);
    round_.out.resize(rows);
    round_.statuses.resize(rows);
    ops_.resize(rows);
  }

  const Asked asked_;
  const unsigned number_, threads_;
  Random random_;
  std::unique_ptr<Caller> caller_;
  Round round_;
  std::vector<std::uint8_t> ops_;
  std::vector<char> polluted_;
};

}  // namespace

std::unique_ptr<Worker> worker(Subject& subject, const Asked& asked, unsigned number, unsigned threads) {
  return std::make_unique<TableWorker>(subject, asked, number, threads);
}

Measured ask(Subject& subject, const Asked& asked, std::uint64_t operations, unsigned threads, std::size_t rows) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned t = 0; t < threads; ++t) workers.push_back(worker(subject, asked, t, threads));
  const Measured measured = measure(workers, operations, rows);
  if (measured.wrong != 0) throw Error(std::to_string(measured.wrong) + " answers are wrong");
  return measured;
}

std::vector<std::uint64_t> latencies(Subject& subject, const Asked& asked, std::uint64_t operations) {
  constexpr std::size_t kRows = 16384;
  TableWorker worker(subject, asked, 0, 1);
  std::vector<std::uint64_t> all, cycles(kRows);
  for (std::uint64_t round = 0; round * kRows < operations; ++round) {
    worker.prepare(round, kRows);
    worker.run_stamped(cycles);
    if (const std::uint64_t wrong = worker.check(); wrong != 0)
      throw Error(std::to_string(wrong) + " answers are wrong");
    all.insert(all.end(), cycles.begin(), cycles.end());
  }
  return all;
}

}  // namespace holdfast::bench::dramhit
