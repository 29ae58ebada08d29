// layout.hpp: rule 8, measured: buckets of 16-byte slots against buckets that keep their key words together.
#pragma once

#include <cstdint>

namespace holdfast::bench {

struct LayoutResult {
  double find_per_second = 0;  ///< of keys that are there, values checked
  double absent_per_second = 0;
  double insert_per_second = 0;  ///< over the whole filling
  double load_factor = 0;        ///< reached by the filling
  std::uint64_t wrong = 0;       ///< answers that were not right
};

/// Fills a volatile array of `bytes` (buckets of eight items) to a load factor of 0.75 in the least loaded of `candidates`
/// (1, 2 or 4) buckets a key, then finds keys; one thread, every line prefetched. `together`: eight key words fill one
/// cache line, their values the next; otherwise key and value lie side by side. `operations` finds of each sort.
LayoutResult measure_layout(bool together, std::uint64_t bytes, unsigned candidates, std::uint64_t operations,
                            bool huge_pages);

}  // namespace holdfast::bench
