// shortage.hpp: lets one allocation fail, or the start of threads, of all threads of this program, whose operator new and
// pthread_create are replaced.
#pragma once

#include <cstdint>
#include <limits>

namespace holdfast::proof {

inline constexpr std::int64_t kNoShortage = std::numeric_limits<std::int64_t>::max();

/// Of operator new, and not deleted.
std::int64_t allocations_alive() noexcept;

/// Fails allocation `at` (from 0) of those made while it lives. One at a time.
class Shortage {
 public:
  explicit Shortage(std::int64_t at) noexcept;
  ~Shortage();
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;

  bool met() const noexcept;  ///< there were so many
};

/// Fails the start of thread `at` (from 0) and of all later ones while it lives. Sanitizers replace pthread_create themselves: under
/// them nothing fails.
class ThreadShortage {
 public:
  explicit ThreadShortage(std::int64_t at) noexcept;
  ~ThreadShortage();
  ThreadShortage(const ThreadShortage&) = delete;
  ThreadShortage& operator=(const ThreadShortage&) = delete;

  bool met() const noexcept;  ///< one failed
};

}  // namespace holdfast::proof
