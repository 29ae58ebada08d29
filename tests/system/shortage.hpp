// shortage.hpp: lets one allocation fail, of all threads of this program, whose operator new is replaced.
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

}  // namespace holdfast::proof
