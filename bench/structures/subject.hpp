// subject.hpp: a table that is measured, one operation a call, whatever its scheme.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/status.hpp"
#include "structures/memories.hpp"
#include "structures/setup.hpp"

namespace holdfast::bench::structures {

/// Keys and values have half an item's bytes.
class Subject {
 public:
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  /// Adds an item whose key the caller promises to be new: inserted, or no_space. Where the scheme offers no such promise, it searches.
  virtual Status insert(const std::uint64_t* key, const std::uint64_t* value) = 0;
  virtual Status find(const std::uint64_t* key, std::uint64_t* value) = 0;
  virtual Status erase(const std::uint64_t* key) = 0;
  virtual std::uint64_t size() = 0;
  virtual std::uint64_t cells() = 0;
  /// What was counted since it was last asked; of a table that counts. Our durable table counts only persists and flushed lines.
  virtual Counted take_counts() { return {}; }
  virtual void begin_operation() {}

 protected:
  Subject() = default;
};

/// What a table is like.
struct Plan {
  unsigned item_bytes = 16;
  unsigned bits = 16;  ///< log2 of its cells, about
  unsigned group_size = 256;
  std::uint64_t seed = 1;
  std::string pool;  ///< the file of a table in a pool
};

/// The names of all schemes: group hashing, ours (`table`), then the others, each without and with (`-l`) an undo log.
const std::vector<std::string>& scheme_names();
/// Those that were asked for. Throws InvalidArgument where there is none of a name.
std::vector<std::string> schemes_of(const Setup& setup);
/// Whether it keeps what it acknowledged through a crash.
bool is_durable(const std::string& scheme);

/// A table whose flushes are emulated, as `emulation` says at each moment.
std::unique_ptr<Subject> timed_subject(const std::string& scheme, const Plan& plan, const Emulation& emulation);
/// A table whose accesses are counted.
std::unique_ptr<Subject> counted_subject(const std::string& scheme, const Plan& plan);

}  // namespace holdfast::bench::structures
