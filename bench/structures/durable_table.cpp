// durable_table.cpp: calls of our Table with one key.
#include "structures/durable_table.hpp"

#include <unistd.h>

#include <optional>
#include <utility>

#include "holdfast/table.hpp"

namespace holdfast::bench::structures {

namespace {

/// Counts persists and flushed lines of pools that are opened while it lives.
class CountedPool final : public pool::FlushObserver {
 public:
  CountedPool() : before_(pool::observe_flushes(this)) {}
  ~CountedPool() override { pool::observe_flushes(before_); }
  CountedPool(const CountedPool&) = delete;
  CountedPool& operator=(const CountedPool&) = delete;
  void flush(const void* address, std::size_t bytes) noexcept override {
    pool::each_line(address, bytes, [this](const char*) { ++counted.lines_flushed; });
    has_flushed_ = true;
  }
  void fence() noexcept override {
    counted.persists += has_flushed_ ? 1 : 0;
    has_flushed_ = false;
  }
  Counted counted;

 private:
  pool::FlushObserver* const before_;
  bool has_flushed_ = false;
};

class DurableTable final : public Subject {
 public:
  DurableTable(const Plan& plan, const Emulation* emulation) : path_(plan.pool + "-" + std::to_string(plan.seed)) {
    if (emulation != nullptr) {
      emulated_.emplace(*emulation);
    } else {
      counted_.emplace();
    }
    CreateOptions options;
    options.shape.key_bytes = options.shape.value_bytes = plan.item_bytes / 2;
    options.shape.capacity = (std::uint64_t{1} << plan.bits) / 4 * 3;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.tuning.flush = true;
    options.overwrite = true;
    table_.emplace(Table::create(path_, options));
  }
  ~DurableTable() override {
    table_->close();
    unlink(path_.c_str());
  }
  Status insert(const std::uint64_t* key, const std::uint64_t* value) override {
    Status status = Status::not_run;
    table_->insert(key, value, 1, &status);
    return status;
  }
  Status find(const std::uint64_t* key, std::uint64_t* value) override {
    bool is_found = false;
    table_->find(key, value, 1, &is_found);
    return is_found ? Status::found : Status::not_found;
  }
  Status erase(const std::uint64_t* key) override {
    Status status = Status::not_run;
    table_->erase(key, 1, &status);
    return status;
  }
  std::uint64_t size() override { return table_->size(); }
  std::uint64_t cells() override { return table_->slots(); }
  Counted take_counts() override { return counted_ ? std::exchange(counted_->counted, {}) : Counted{}; }

 private:
  const std::string path_;
  std::optional<EmulatedPool> emulated_;
  std::optional<CountedPool> counted_;
  std::optional<Table> table_;
};

}  // namespace

std::unique_ptr<Subject> durable_table(const Plan& plan, const Emulation* emulation) {
  return std::make_unique<DurableTable>(plan, emulation);
}

}  // namespace holdfast::bench::structures
