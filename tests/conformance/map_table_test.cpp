// map_table_test.cpp: an example of a third kind of table, a hash map of the standard library: it enters the suite from this file alone.
#include <unordered_map>

#include "conformance/suite.hpp"

namespace holdfast::test {
namespace {

/// Sets a status for each row, one after another, by its own rules.
class MapTable {
 public:
  BatchResult run(const Batch& batch) {
    BatchResult result;
    for (std::size_t row = 0; row < batch.size; ++row) {
      const bool runs = batch.mask == nullptr || batch.mask[row] != 0;
      const Op op = batch.ops != nullptr ? static_cast<Op>(batch.ops[row]) : batch.op;
      std::uint64_t key, given = 0, seen = 0;
      std::memcpy(&key, static_cast<const char*>(batch.keys) + row * 8, 8);
      if (batch.values != nullptr) std::memcpy(&given, static_cast<const char*>(batch.values) + row * 8, 8);
      const bool found = map_.contains(key);
      const Status status =
          runs ? apply(op, key, found, given, batch.accumulate.value_or(Accumulate{})) : Status::not_run;
      if (runs && reads_value(op) && map_.contains(key)) seen = map_.at(key);
      if (batch.out != nullptr) std::memcpy(static_cast<char*>(batch.out) + row * 8, &seen, 8);
      if (batch.statuses != nullptr) batch.statuses[row] = status;
      if (batch.found != nullptr) batch.found[row] = runs && found;
      ++result.count[static_cast<unsigned>(status)];
    }
    result.next = batch.size;
    return result;
  }
  std::size_t export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n) const {
    std::size_t got = 0;
    auto at = std::next(map_.begin(), static_cast<std::ptrdiff_t>(cursor));
    for (; at != map_.end() && got < n; ++at, ++got) {
      std::memcpy(static_cast<char*>(keys) + got * 8, &at->first, 8);
      std::memcpy(static_cast<char*>(values) + got * 8, &at->second, 8);
    }
    cursor = at == map_.end() ? ~std::uint64_t{0} : cursor + got;
    return got;
  }
  std::uint64_t size() const { return map_.size(); }
  std::uint64_t slots() const { return map_.bucket_count(); }
  std::uint32_t key_bytes() const { return 8; }
  std::uint32_t value_bytes() const { return 8; }
  void clear() { map_.clear(); }
  void reserve(std::uint64_t items) { map_.reserve(items); }

 private:
  Status apply(Op op, std::uint64_t key, bool found, std::uint64_t given, const Accumulate& how) {
    if (op == Op::find || op == Op::contains) return found ? Status::found : Status::not_found;
    if (op == Op::erase) return map_.erase(key) != 0 ? Status::erased : Status::not_found;
    if (op == Op::assign && !found) return Status::not_found;
    const bool keeps = op == Op::insert || op == Op::find_or_insert || op == Op::insert_and_find;
    if (keeps && found) return op == Op::find_or_insert ? Status::found : Status::exists;
    map_[key] = op == Op::accumulate && found ? sum(map_[key], given, how) : given;
    return found ? Status::updated : Status::inserted;
  }
  static std::uint64_t sum(std::uint64_t a, std::uint64_t b, const Accumulate& how) {
    Value value(8);
    std::memcpy(value.data(), &a, 8);
    combine_value(value, reinterpret_cast<const std::uint8_t*>(&b), how.combine, how.element);
    std::memcpy(&a, value.data(), 8);
    return a;
  }

  std::unordered_map<std::uint64_t, std::uint64_t> map_;
};
static_assert(BatchTable<MapTable>);

ConformanceSubject<MapTable> standard_map() {
  ConformanceSubject<MapTable> subject;
  subject.name = "standard";
  subject.create = [] { return std::make_unique<MapTable>(); };
  return subject;
}

const Conformance<MapTable> map_tables("MapTable", {standard_map()});

}  // namespace
}  // namespace holdfast::test
