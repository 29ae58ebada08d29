// subject.hpp: what is run under crashes and faults of the system, and a check of what they leave.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::proof {

enum class Crash : std::uint8_t {
  kill,  ///< of the process: all that it wrote stays
  power  ///< of the machine: what was not synced may be lost
};

/// An operation in steps, each of which is acknowledged or fails. Used in this order: `prepare`, `run`; then, of each folder that is
/// left, `check` and `go_on`.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Makes what the operation begins with, in an empty folder. Unobserved: its result is on the device.
  virtual void prepare(const std::string& folder) = 0;
  /// The operation. Calls `said` after each step that it has acknowledged. Lets a holdfast::Error out when it has seen that what it
  /// has open either works or says that it does not.
  virtual void run(const std::string& folder, const std::function<void()>& said) = 0;
  /// Opens what is left after `steps` steps, while the next ran, and closes it again. Returns what is wrong with it; empty: nothing.
  virtual std::string check(const std::string& folder, unsigned steps, Crash crash) = 0;
  /// Works on with what `check` found right. Returns what is wrong.
  virtual std::string go_on(const std::string& folder) = 0;
};

/// What was tried; a count that falls says that a proof has become weaker.
struct Counts {
  std::uint64_t calls = 0;       ///< of the operation: the crashes are before, between and after them
  std::uint64_t images = 0;      ///< that crashes left
  std::uint64_t recoveries = 0;  ///< images that crashes of their recovery left
  std::uint64_t faults = 0;      ///< calls that were made to fail, each in a separate run
  std::uint64_t errors = 0;      ///< of those runs, which said so
  std::vector<std::string> wrong;
};
inline constexpr std::size_t kMostWrong = 5;  ///< of `Counts::wrong`: a proof that found so many ends

/// HOLDFAST_LONG=1 (scripts/proof): everything is tried.
inline bool is_long() {
  const char* const value = std::getenv("HOLDFAST_LONG");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

/// Whether each call fails with each error, and the power is cut in every way. Sanitizers look at what the code does then: each call
/// fails with one of its errors, cyclically, and one in four power cuts is made.
inline bool tries_all() {
#if defined(HOLDFAST_SANITIZED)
  return is_long();
#else
  return true;
#endif
}

}  // namespace holdfast::proof
