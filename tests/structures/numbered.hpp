// numbered.hpp: numbered keys and values of both sizes, and a counter of persists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include "pool/medium/persist.hpp"

namespace holdfast::test {

/// A key or a value that stands for a number; of 16 bytes, the second word differs with it.
using Wide = std::array<std::uint64_t, 2>;
inline Wide wide(std::uint64_t number) { return {number, number * 3 + 1}; }

/// Counts the fences and the lines that are flushed.
class PersistCounter : public pool::FlushObserver {
 public:
  PersistCounter() : before_(pool::observe_flushes(this)) {}
  ~PersistCounter() override { pool::observe_flushes(before_); }
  void flush(const void* address, std::size_t bytes) noexcept override {
    pool::each_line(address, bytes, [this](const char* line) {
      ++counts.lines;
      counts.twice += flushed_.insert(line).second ? 0 : 1;
    });
  }
  void fence() noexcept override {
    ++counts.fences;
    flushed_.clear();
  }
  struct Counts {
    unsigned lines = 0, fences = 0;
    unsigned twice = 0;  ///< lines flushed twice without a fence in between
  } counts;

 private:
  pool::FlushObserver* const before_;
  std::set<const char*> flushed_;
};

}  // namespace holdfast::test
