// target.cpp: a Holdfast table as a benchmark's target.
#include "peers/target.hpp"

#include <utility>

#include "table/device_arrays.hpp"

namespace holdfast::bench {
namespace {

class HoldfastTarget final : public Target {
 public:
  explicit HoldfastTarget(Table table)
      : table_(std::move(table)), name_(table_.on_gpu() ? "holdfast-gpu" : "holdfast") {}

  void run(const Work& work) override {
    Batch batch;
    batch.size = work.size;
    batch.op = work.op;
    batch.ops = work.ops;
    batch.keys = work.keys;
    batch.values = work.values;
    batch.out = work.out;
    batch.statuses = work.statuses;
    batch.unique = work.unique;
    if (work.on_device) batch.device = Device{};
    table_.run(batch);
    if (work.on_device) DeviceArray::synchronize();
  }

  std::string name() const override { return name_; }
  std::uint64_t size() const override { return table_.size(); }
  std::size_t value_bytes() const override { return table_.value_bytes(); }
  Table* table() override { return &table_; }
  void close() override { table_.close(); }

 private:
  Table table_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Target> holdfast_target(Table table) { return std::make_unique<HoldfastTarget>(std::move(table)); }

}  // namespace holdfast::bench
