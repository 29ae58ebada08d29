// check_errors.hpp: what `check` finds wrong with a persistent hash table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::structures {

/// Collects what is wrong, and counts what it leaves out.
class CheckErrors {
 public:
  explicit CheckErrors(std::vector<std::string>& to) : to_(to) {}
  ~CheckErrors() {
    if (count_ > kMost) to_.push_back("and " + std::to_string(count_ - kMost) + " errors more");
  }
  CheckErrors(const CheckErrors&) = delete;
  CheckErrors& operator=(const CheckErrors&) = delete;
  void add(const std::string& what) {
    if (++count_ <= kMost) to_.push_back(what);
  }

 private:
  static constexpr std::uint64_t kMost = 20;
  std::vector<std::string>& to_;
  std::uint64_t count_ = 0;
};

}  // namespace holdfast::structures
