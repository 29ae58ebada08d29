// subject.hpp: what a study measures: our tables and the peers behind one way of running a round.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dramhit/rounds.hpp"
#include "holdfast/status.hpp"

namespace holdfast::bench::dramhit {

/// One round of one thread.
struct Round {
  Op op = Op::find;
  const std::uint8_t* ops = nullptr;  ///< or null: `op`; find and accumulate, one kind a batch
  bool by_row = false;                ///< `ops` differ within a batch: find and assign, for tables that run batches
  std::vector<std::uint64_t> keys, values, ids, out;
  std::vector<Status> statuses;
  std::size_t batch = 16;
  std::size_t size = 0;   ///< rows
  bool silent = false;    ///< changes need no answers
  unsigned pollutes = 0;  ///< lines of `polluted` asked for after each batch's operations, each
  const char* polluted = nullptr;
  std::size_t polluted_lines = 0;
  std::vector<std::uint64_t>* cycles = nullptr;  ///< time stamps of calls, and in their place those of answers
};

/// A table as one thread uses it. Answers go to `out` and `statuses`, at row i or, with `ids[i]`, in any order.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void run(Round& round) = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::unique_ptr<Caller> caller(bool silent) = 0;
  virtual std::uint64_t lines() const { return 0; }       ///< looked at so far, where it is counted
  virtual std::uint64_t operations() const { return 0; }  ///< likewise
  virtual bool is_silent() const { return false; }        ///< changes give no answers
  virtual bool adds() const { return true; }              ///< it has upsert
  /// Of `threads` in all, those that may ask for changes: the others own partitions.
  virtual unsigned changers(unsigned threads) const { return threads; }
};

/// Asks for other lines, as an application would that works between the operations.
void pollute(const Round& round, std::size_t operations);

/// "dramhit", "dramhit-p" (half of the threads own partitions), "folklore", "libcuckoo", "tbb", "boost", "absl"; `depth` for the
/// first. Ours also as "dramhit@avx2": with other instructions than the best. And those of `setup.originals`, by their names.
std::unique_ptr<Subject> subject(const std::string& name, std::uint64_t capacity, const Setup& setup);
/// Those that this build has, without ours.
std::vector<std::string> peer_names();

}  // namespace holdfast::bench::dramhit
