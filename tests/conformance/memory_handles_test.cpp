// memory_handles_test.cpp: handles of tables in memory under the conformance suite: each row of a batch by a call of its own, all queued.
#include <cstring>

#include "conformance/suite.hpp"
#include "holdfast/memory_table.hpp"
#include "support/tiles.hpp"

namespace holdfast::test {
namespace {

/// A table whose batches go through a handle. Operations that handles do not have are made of those that they have.
class HandledTable : public MemoryTable {
 public:
  using MemoryTable::MemoryTable;

  BatchResult run(const Batch& batch) {
    const Accumulate how = batch.accumulate.value_or(Accumulate{});
    if (how.scale != 1) return MemoryTable::run(batch);
    BatchResult result;
    result.next = batch.size;
    Answered answered(*this, batch, result);
    MemoryHandle queue = handle({.combine = how.combine, .element = how.element});
    for (std::size_t row = 0; row < batch.size; ++row) {
      if (batch.mask != nullptr && batch.mask[row] == 0) {
        answered.give(row, Status::not_run, nullptr);
        continue;
      }
      while (submit(queue, batch, row, answered.answers) == 0) answered.read();
    }
    while (!queue.flush(answered.answers)) answered.read();
    answered.read();
    return result;
  }

 private:
  static Op op_of(const Batch& batch, std::size_t row) {
    return batch.ops != nullptr ? static_cast<Op>(batch.ops[row]) : batch.op;
  }

  std::size_t submit(MemoryHandle& queue, const Batch& batch, std::size_t row, MemoryAnswers& answers) const {
    const auto* const key = static_cast<const std::byte*>(batch.keys) + row * key_bytes();
    const auto* const value =
        batch.values == nullptr ? nullptr : static_cast<const std::byte*>(batch.values) + row * value_bytes();
    const std::uint64_t id[] = {row};
    switch (op_of(batch, row)) {
      case Op::insert: return queue.insert(key, value, id, 1, answers);
      case Op::insert_or_assign: return queue.put(key, value, id, 1, answers);
      case Op::assign: return queue.assign(key, value, id, 1, answers);
      case Op::erase: return queue.erase(key, id, 1, answers);
      case Op::accumulate: return queue.upsert(key, value, id, 1, answers);
      case Op::find_or_insert:
      case Op::insert_and_find: return queue.find_or_insert(key, value, id, 1, answers);
      default: return queue.get(key, id, 1, answers);
    }
  }

  /// Space for a few answers, and the way from there to the rows.
  class Answered {
   public:
    Answered(const HandledTable& table, const Batch& batch, BatchResult& result)
        : batch_(batch), result_(result), bytes_(table.value_bytes()), values_(kSpace * bytes_) {
      answers.ids = ids_;
      answers.statuses = statuses_;
      answers.values = values_;
    }
    void read() {
      for (std::size_t i = 0; i < answers.size; ++i) {
        Status status = statuses_[i];
        const Op op = op_of(batch_, ids_[i]);
        if (op == Op::insert_and_find && status == Status::found) status = Status::exists;
        give(ids_[i], status, reads_value(op) ? values_.data() + i * bytes_ : nullptr);
      }
      answers.size = 0;
    }
    void give(std::size_t row, Status status, const std::byte* value) {
      ++result_.count[static_cast<unsigned>(status)];
      if (batch_.statuses != nullptr) batch_.statuses[row] = status;
      if (batch_.found != nullptr) {
        batch_.found[row] = status == Status::found || status == Status::exists || status == Status::updated ||
                            status == Status::erased;
      }
      if (batch_.out == nullptr || bytes_ == 0 || (batch_.ops == nullptr && !reads_value(batch_.op))) return;
      auto* const to = static_cast<std::byte*>(batch_.out) + row * bytes_;
      value != nullptr ? std::memcpy(to, value, bytes_) : std::memset(to, 0, bytes_);
    }
    MemoryAnswers answers;

   private:
    static constexpr std::size_t kSpace = 7;
    const Batch& batch_;
    BatchResult& result_;
    const std::size_t bytes_;
    std::uint64_t ids_[kSpace] = {};
    Status statuses_[kSpace] = {};
    std::vector<std::byte> values_;
  };
};

ConformanceSubject<HandledTable> handled(std::uint32_t key_bytes, std::uint32_t value_bytes,
                                         const char* tile = nullptr) {
  ConformanceSubject<HandledTable> subject;
  subject.name = "key" + std::to_string(key_bytes) + "_value" + std::to_string(value_bytes) +
                 (tile == nullptr ? "" : std::string("_") + tile);
  subject.create = [=] {
    const UseTile use(tile);
    return std::make_unique<HandledTable>(
        MemoryOptions{.key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = 1000, .seed = 5});
  };
  subject.seed = 5;
  return subject;
}

const Conformance<HandledTable> memory_handles("MemoryHandle", {handled(8, 8), handled(8, 8, "avx2"),
                                                                handled(8, 8, "portable"), handled(8, 0), handled(8, 4),
                                                                handled(8, 5), handled(8, 64), handled(24, 12)});

}  // namespace
}  // namespace holdfast::test
