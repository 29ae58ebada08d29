// alternation.hpp: tables, and the memory's own limit, asked in turns: whatever else the machine does meanwhile meets all alike.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dramhit/worker.hpp"
#include "memory/limits.hpp"

namespace holdfast::bench::dramhit {

/// Repetitions by name, M operations (or lines) a second.
using Figures = std::map<std::string, std::vector<double>>;
Json spreads(const Figures& figures);

/// Makes `name` of two others.
void ratio(Figures& figures, const std::string& name, const std::string& above, const std::string& below);

/// Random lines, read or changed as the operation beside them does.
class Limit {
 public:
  Limit(std::uint64_t bytes, const Setup& setup);
  /// M lines a second.
  double measure(bool changes, std::uint64_t operations);

 private:
  const unsigned threads_;
  const RandomLines lines_;
  unsigned depth_[2] = {};  ///< by `changes`; 0: not known yet
};

/// How an operation is asked for.
struct Manner {
  double theta = 0;     ///< of a zipfian distribution, and the figures' names end with `_zipfian`; 0: uniform
  bool silent = false;  ///< changes give no answers, of any table
};

/// Tables of the same items, each made empty.
class Alternation {
 public:
  /// `names` as `subject` takes them. Without `limit`, none is measured.
  Alternation(const std::vector<std::string>& names, std::uint64_t items, const Setup& setup, Limit* limit = nullptr);

  /// Puts all items into all tables, an eighth in a turn.
  void fill(Figures& figures);
  /// So many operations of each table, an eighth in a turn. Figures are called after the table and the operation, as `dramhit_get`,
  /// and `dramhit_get_lines` for lines looked at each; likewise what the processor counted; the memory's is `get_limit`. Tables that do not add
  /// have no figures of `upsert`.
  void ask(Ask kind, std::uint64_t operations, Figures& figures, const Manner& manner = {});

 private:
  struct Table {
    std::string name;
    std::unique_ptr<Subject> subject;
  };

  const Setup& setup_;
  const std::uint64_t part_;  ///< items of a turn, in whole rounds
  Limit* const limit_;
  std::vector<Table> tables_;
  std::uint64_t seeds_ = 0;
};

}  // namespace holdfast::bench::dramhit
