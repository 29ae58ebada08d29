// folklore.hpp: the baseline of DRAMHiT's comparison: the same lines, one operation after the other, nothing asked for ahead.
// Maier, Sanders, Dementiev, "Concurrent Hash Tables: Fast and General(?)!" (TOPC 2019), "folklore".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "holdfast/status.hpp"

namespace holdfast::bench {

class Folklore {
 public:
  virtual ~Folklore() = default;
  /// `n` operations of one kind in order; `values` are read by changes, `out` and `statuses` written. Several threads may call.
  virtual void run(Op op, const std::uint64_t* keys, const std::uint64_t* values, std::uint64_t* out, Status* statuses,
                   std::size_t n) = 0;
};

/// With room for so many items at three quarters full; it does not grow. For this CPU's best instructions.
std::unique_ptr<Folklore> make_folklore(std::uint64_t capacity, bool populate);

std::unique_ptr<Folklore> portable_folklore(std::uint64_t capacity, bool populate);
std::unique_ptr<Folklore> avx512_folklore(std::uint64_t capacity, bool populate);

}  // namespace holdfast::bench
