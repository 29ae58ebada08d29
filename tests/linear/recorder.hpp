// recorder.hpp: runs short histories of concurrent callers on a real table and logs what each saw. The log may lie in
// shared memory, so that it outlives a killed caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checker.hpp"
#include "holdfast/table.hpp"
#include "support/numbers.hpp"

namespace holdfast::test::linear {

inline constexpr unsigned kMaxCallers = 4;
inline constexpr unsigned kMaxKeys = 3;
inline constexpr unsigned kMaxRecords = kMaxOperations / kMaxCallers;  ///< of a caller, so that a key's fit the checker

/// One operation as its caller logs it. `ended` is written last.
struct Record {
  std::uint64_t begun, given, out;
  std::atomic<std::uint64_t> ended;
  std::uint32_t key;    ///< which of the history's keys
  std::uint32_t after;  ///< the caller's record that comes before in array order, or kNone
  Op op;
  Combine combine;
  Status status;
  bool found, torn;
  Special special;
  std::uint64_t expected;
};

struct CallerLog {
  std::atomic<std::uint32_t> count;  ///< records begun
  Record records[kMaxRecords];
};

/// One history: up to four callers, one to three keys.
struct HistoryLog {
  std::atomic<std::uint32_t> stage;  ///< 1 begun, 2 finished
  std::uint32_t callers, keys;
  std::uint64_t key[kMaxKeys];
  std::atomic<std::uint64_t> clock;
  CallerLog caller[kMaxCallers];
};

/// The table that the histories of one seed run on: small, so that keys collide and the table grows under them. One of any
/// length is given values of `value_bytes` (support/numbers.hpp).
CreateOptions table_options(std::uint64_t seed);

/// Runs history `number` of `seed` on the table and fills in `log`, which is all zero.
void run_history(NumberedTable& table, std::uint64_t seed, std::uint64_t number, HistoryLog& log);

/// A value of `bytes` bytes stands for one number: the number repeated. `torn` is set if it is not that.
std::uint64_t number_in(const void* value, std::size_t bytes, bool& torn);

/// What is known of every key of a table while its histories are checked one after the other.
class Verifier {
 public:
  /// Checks one history. Returns what is wrong with it, or "".
  std::string add(const HistoryLog& log);
  /// Checks that the key now reads as `state`. Returns what is wrong, or "".
  std::string add_read(std::uint64_t key, const State& state);
  /// Every key met so far.
  std::vector<std::uint64_t> keys() const;

 private:
  std::string advance(std::uint64_t key, const Epoch& epoch);
  std::map<std::uint64_t, std::set<State>> states_;
};

/// Changes each value that a find of the first caller returned to one that nobody wrote, and back. Counts these in `planted`; returns how many of
/// them the checker missed.
unsigned missed_plants(HistoryLog& log, unsigned& planted);

/// True if operations of two callers on one key overlapped.
bool overlaps(const HistoryLog& log);
/// The operations of a history on one of its keys.
Epoch epoch_of(const HistoryLog& log, std::uint32_t key);
std::string describe(const Epoch& epoch);

}  // namespace holdfast::test::linear
