// workload.hpp: fills tables with a trace's keys to a load factor, then asks for the same operations of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "frame/keys.hpp"
#include "structures/subject.hpp"
#include "structures/traces.hpp"

namespace holdfast::bench::structures {

inline constexpr const char* kOperations[] = {"insert", "find", "erase"};

/// A table under measurement. Keys that found no cell are no errors: they are counted, and are absent.
struct Measured {
  std::string scheme;
  std::unique_ptr<Subject> table;
  std::unordered_set<std::uint32_t> refused = {};  ///< keys, by number
  std::uint64_t refusals = 0;
};

/// A key's value: of one that is torn or another key's the words differ.
inline Key value_of(const Key& key) { return {mix(key[0] + kOdd), mix(key[0] ^ key[1])}; }

/// The keys that all tables have, and those of the next run. The operations of a run are the same for each table.
class Workload {
 public:
  /// Keys of `trace` for tables of 2^bits cells at this load, and `operations` more.
  Workload(Trace trace, double load, std::uint64_t operations, const Setup& setup);

  const Trace& trace() const { return trace_; }
  double load() const { return load_; }
  std::uint64_t items() const { return present_.size(); }
  std::uint64_t operations() const {
    return operations_;
  }  ///< of each kind, a run: those asked for, or half of a small table's items
  /// Inserts the keys that all tables have; before `end_run`.
  void fill(Measured& table) const;
  /// Chooses the keys of a run: new ones to insert, some to find, as many to erase as are inserted.
  void begin_run();
  void end_run();  ///< of all tables: what was inserted and erased is noted

  /// Does all operations of a kind. Throws where one is answered wrongly. Returns the nanoseconds that one took on average.
  double run(Measured& table, const char* operation) const;
  /// The same where only what the operations do counts.
  Counted count(Measured& table, const char* operation) const;

 private:
  const std::vector<std::uint32_t>& keys_of(const char* operation) const;
  template <class Around>
  void do_all(Measured& table, const char* operation, const Around& around) const;

  Trace trace_;
  const double load_;
  std::uint64_t operations_;
  Random random_{7};
  std::vector<std::uint32_t> present_, inserts_, finds_, erases_;  ///< keys, by number
};

}  // namespace holdfast::bench::structures
