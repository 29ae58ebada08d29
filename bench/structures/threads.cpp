// threads.cpp: the study `threads`: more threads than one on one table, each with keys of its own.
#include <atomic>
#include <stdexcept>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "structures/workload.hpp"

namespace holdfast::bench::structures {
namespace {

constexpr std::uint64_t kMoreOperations = 20;  ///< than of one thread whose calls are timed together
constexpr std::uint64_t kThreadsSeed = 11;

Key threads_key(std::uint64_t item) { return {key_of(item, kThreadsSeed), 0}; }

/// Millions of operations a second on a table of `items` items, by operation.
std::map<std::string, double> rates(const std::string& scheme, const Plan& plan, std::uint64_t items,
                                    std::uint64_t operations, unsigned threads) {
  Emulation emulation;
  const auto table = timed_subject(scheme, plan, emulation);
  for (std::uint64_t item = 0; item < items; ++item) {
    const Key key = threads_key(item);
    if (table->insert(key.data(), value_of(key).data()) != Status::inserted) {
      throw std::runtime_error(scheme + " took no more than " + std::to_string(item) + " items");
    }
  }
  emulation = {{pool::FlushKind::clflush}, Delay::calibrated().ticks(300)};
  std::map<std::string, double> mops;
  std::atomic<std::uint64_t> wrong = 0;
  const auto measure = [&](const char* name, const auto& one) {
    const double seconds = together(threads, [&](unsigned thread) {
      const std::uint64_t from = operations * thread / threads, to = operations * (thread + 1) / threads;
      for (std::uint64_t i = from; i < to; ++i) wrong += one(i) ? 0 : 1;
    });
    mops[name] = static_cast<double>(operations) / seconds / 1e6;
  };
  measure("insert", [&](std::uint64_t i) {
    const Key key = threads_key(items + i);
    return table->insert(key.data(), value_of(key).data()) == Status::inserted;
  });
  measure("find", [&](std::uint64_t i) {
    const Key key = threads_key(mix(i) % items);
    Key value = {};
    return table->find(key.data(), value.data()) == Status::found && value[0] == value_of(key)[0];
  });
  measure("erase", [&](std::uint64_t i) { return table->erase(threads_key(items + i).data()) == Status::erased; });
  if (wrong != 0) throw std::runtime_error(scheme + ": " + std::to_string(wrong) + " answers of threads are wrong");
  return mops;
}

Json study_threads(const Setup& setup) {
  const unsigned bits = setup.bits == 0 ? 23 : setup.bits;
  const std::uint64_t items = (std::uint64_t{1} << bits) / 2;
  const std::uint64_t operations = std::min(setup.operations * kMoreOperations, items / 8);
  Json rows = Json::array();
  for (const std::string& scheme : schemes_of(setup)) {
    if (!is_durable(scheme)) continue;
    std::map<unsigned, std::map<std::string, std::vector<double>>> mops;
    for (unsigned run = 0; run < setup.runs; ++run) {
      for (unsigned threads = 1; threads <= setup.threads; threads *= 2) {
        progress("threads: " + scheme + ", " + std::to_string(threads) + ", run " + std::to_string(run + 1));
        const Plan plan{.bits = bits, .pool = setup.pool};
        for (const auto& [name, rate] : rates(scheme, plan, items, operations, threads)) {
          mops[threads][name].push_back(rate);
        }
      }
    }
    for (const auto& [threads, figures] : mops) {
      Json row{{"scheme", scheme}, {"threads", threads}};
      for (const auto& [name, values] : figures) {
        row[name + "_mops"] = spread(values);
        row[name + "_over_one"] = spread(ratio_of(values, mops.at(1).at(name)));
      }
      rows.push_back(row);
    }
  }
  return {{"emulated", "clflush, 300 ns"}, {"items", items}, {"operations", operations}, {"rows", rows}};
}
const Study kThreads("threads", study_threads);

}  // namespace
}  // namespace holdfast::bench::structures
