// pipeline_callers.hpp: concurrent callers of a store's pipeline, each with several batches that it does not wait for, who log what they see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "callers.hpp"
#include "holdfast/store_pipeline.hpp"
#include "recorder.hpp"
#include "store_answers.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {

/// A batch with its strings, and the record of each request that is not filler.
struct PipelineRows {
  std::vector<std::string> keys, values;
  std::vector<StoreOp> ops;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint32_t> records;
  StoreBatch batch;

  void add(StoreOp op, std::string key, std::string value, std::uint64_t number, std::uint32_t record) {
    ops.push_back(op);
    keys.push_back(std::move(key));
    values.push_back(std::move(value));
    numbers.push_back(number);
    records.push_back(record);
  }
  void fill() {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      batch.add({.op = ops[i], .key = keys[i], .value = values[i], .number = numbers[i]});
    }
  }
};

class PipelineCaller {
 public:
  PipelineCaller(StorePipeline& pipeline, HistoryLog& history, CallerLog& log, std::uint64_t seed)
      : caller_(pipeline.caller()), history_(history), log_(log), random_(seed) {}

  /// One to three batches of one to three requests, and some on other keys. Returns when all are answered.
  void call() {
    std::vector<std::unique_ptr<PipelineRows>> all;
    const std::uint32_t first = log_.count.load(std::memory_order_relaxed);
    std::uint32_t next = first;
    const std::uint64_t batches = 1 + random_.below(3), around = random_.chance(40) ? random_.below(20) : 0;
    for (std::uint64_t i = 0; i < batches; ++i) {
      auto rows = std::make_unique<PipelineRows>();
      for (std::uint64_t row = 1 + random_.below(3); row > 0 && next < kMaxRecords; --row, ++next) {
        for (std::uint64_t other = random_.below(around + 1); other > 0; --other) {
          const StoreOp op = random_.chance(50) ? StoreOp::get : StoreOp::set;
          rows->add(op, "filler " + std::to_string(random_.below(300)), std::string(random_.below(300), 'f'), 0, kNone);
        }
        draw(*rows, first, next);
      }
      rows->fill();
      all.push_back(std::move(rows));
    }
    const std::uint64_t begun = history_.clock.fetch_add(1);
    for (std::uint32_t i = first; i < next; ++i) log_.records[i].begun = begun;
    log_.count.store(next, std::memory_order_release);
    for (auto& rows : all) caller_.submit(rows->batch);
    for (auto& rows : all) answer(*rows);
  }

 private:
  void draw(PipelineRows& rows, std::uint32_t first, std::uint32_t at) {
    struct Choice {
      StoreOp op;
      Op as;
    };
    constexpr Choice kChoices[] = {
        {StoreOp::get, Op::find},   {StoreOp::get, Op::find},       {StoreOp::set, Op::insert_or_assign},
        {StoreOp::add, Op::insert}, {StoreOp::replace, Op::assign}, {StoreOp::increment, Op::assign},
        {StoreOp::erase, Op::erase}};
    const Choice& choice = kChoices[random_.below(std::size(kChoices))];
    Record& record = log_.records[at];
    record.key = static_cast<std::uint32_t>(random_.below(history_.keys));
    record.op = choice.as;
    record.special = choice.op == StoreOp::increment ? Special::increment : Special::none;
    record.given = random_.next() >> 8;
    record.after = kNone;
    for (std::uint32_t i = first; i < at; ++i) {
      if (log_.records[i].key == record.key) record.after = i;
    }
    record.ended.store(kPending, std::memory_order_relaxed);
    const bool adds = choice.op == StoreOp::increment;
    rows.add(choice.op, std::to_string(history_.key[record.key]), std::to_string(record.given), adds ? record.given : 0,
             at);
  }
  void answer(PipelineRows& rows) {
    caller_.wait(rows.batch);
    const std::uint64_t ended = history_.clock.fetch_add(1);
    for (std::size_t row = 0; row < rows.records.size(); ++row) {
      if (rows.records[row] == kNone) continue;
      Record& record = log_.records[rows.records[row]];
      const StoreAnswer answer = rows.batch.answer(row);
      record.status = status_of(answer.status);
      record.found = is_there(record.status);
      if (rows.ops[row] == StoreOp::get && record.found) record.out = *value_in(answer.value, record.torn);
      if (rows.ops[row] == StoreOp::increment) record.out = answer.number;
      record.ended.store(ended, std::memory_order_release);
    }
  }

  StoreCaller caller_;
  HistoryLog& history_;
  CallerLog& log_;
  Random random_;
};

/// Runs a history and fills in `log`, which is all zero. Each has its own keys.
inline void run_pipeline_history(StorePipeline& pipeline, std::uint64_t seed, HistoryLog& log) {
  Random random(seed);
  log.callers = static_cast<std::uint32_t>(2 + random.below(kMaxCallers - 1));
  log.keys = static_cast<std::uint32_t>(1 + random.below(kMaxKeys));
  for (std::uint32_t i = 0; i < log.keys; ++i) log.key[i] = mix(seed, i);
  const std::uint64_t calls = 1 + random.below(4);
  run_callers(log, [&](std::uint32_t number, Meeting& meeting) {
    PipelineCaller caller(pipeline, log, log.caller[number], mix(seed, 100 + number));
    for (std::uint64_t i = 0; i < calls; ++i) {
      meeting.before(i);
      caller.call();
    }
  });
}

}  // namespace holdfast::test::linear
