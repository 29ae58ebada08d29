// workload.cpp: the operations of a run, and the checks of their answers.
#include "structures/workload.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "frame/timing.hpp"

namespace holdfast::bench::structures {

Workload::Workload(Trace trace, double load, std::uint64_t operations, const Setup& setup)
    : trace_(std::move(trace)), load_(load), operations_(operations) {
  const auto items = static_cast<std::uint64_t>(load * static_cast<double>(std::uint64_t{1} << trace_.bits));
  operations_ = std::min(operations_, items / 2);
  add_keys(trace_, items + operations_, setup);
  present_.resize(items);
  std::iota(present_.begin(), present_.end(), 0u);
  inserts_.resize(operations_);
  std::iota(inserts_.begin(), inserts_.end(), static_cast<std::uint32_t>(items));
}

void Workload::fill(Measured& table) const {
  // In the order of the trace, whatever the runs are: what a run erases must not be what was inserted first.
  for (std::uint32_t number = 0; number < present_.size(); ++number) {
    const Key& key = trace_.keys[number];
    const Key value = value_of(key);
    if (table.table->insert(key.data(), value.data()) == Status::inserted) continue;
    table.refused.insert(number);
    ++table.refusals;
  }
}

void Workload::begin_run() {
  finds_.clear();
  for (std::uint64_t i = 0; i < operations_; ++i) {
    finds_.push_back(present_[random_.below(present_.size())]);
    std::swap(present_[i], present_[i + random_.below(present_.size() - i)]);
  }
  erases_.assign(present_.begin(), present_.begin() + static_cast<std::ptrdiff_t>(operations_));
}

void Workload::end_run() {
  std::copy(inserts_.begin(), inserts_.end(), present_.begin());
  inserts_ = erases_;
}

const std::vector<std::uint32_t>& Workload::keys_of(const char* operation) const {
  if (std::strcmp(operation, "insert") == 0) return inserts_;
  return std::strcmp(operation, "find") == 0 ? finds_ : erases_;
}

template <class Around>
void Workload::do_all(Measured& table, const char* operation, const Around& around) const {
  const std::vector<std::uint32_t>& numbers = keys_of(operation);
  std::vector<Status> answers(numbers.size());
  std::vector<Key> values(numbers.size());
  around([&](const auto& before) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      before();
      const Key& key = trace_.keys[numbers[i]];
      if (&numbers == &finds_) {
        answers[i] = table.table->find(key.data(), values[i].data());
      } else if (&numbers == &erases_) {
        answers[i] = table.table->erase(key.data());
      } else {
        values[i] = value_of(key);
        answers[i] = table.table->insert(key.data(), values[i].data());
      }
    }
  });
  const std::size_t value_bytes = trace_.item_bytes / 2;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (&numbers == &inserts_ && answers[i] == Status::no_space) {
      table.refused.insert(numbers[i]);
      ++table.refusals;
      continue;
    }
    const bool is_there = !table.refused.contains(numbers[i]);
    const Status expected = &numbers == &inserts_  ? Status::inserted
                            : !is_there            ? Status::not_found
                            : &numbers == &erases_ ? Status::erased
                                                   : Status::found;
    const Key value = value_of(trace_.keys[numbers[i]]);
    const bool is_right = answers[i] == expected &&
                          (expected != Status::found || std::memcmp(values[i].data(), value.data(), value_bytes) == 0);
    if (!is_right) throw std::runtime_error(table.scheme + ": an answer of " + operation + " is wrong");
    if (&numbers == &erases_) table.refused.erase(numbers[i]);
  }
}

double Workload::run(Measured& table, const char* operation) const {
  double seconds = 0;
  do_all(table, operation, [&](const auto& all) {
    const auto start = Clock::now();
    all([] {});
    seconds = seconds_since(start);
  });
  return seconds * 1e9 / static_cast<double>(operations_);
}

Counted Workload::count(Measured& table, const char* operation) const {
  static_cast<void>(table.table->take_counts());
  do_all(table, operation, [&](const auto& all) { all([&] { table.table->begin_operation(); }); });
  return table.table->take_counts();
}

}  // namespace holdfast::bench::structures
