// studies.cu: holdfast-link-bench: a table in shared memory, worked on by a GPU from arrays in its own memory. `scripts/gpu link
// studies` makes result files.
#include <CLI/CLI.hpp>

#include "against.cuh"
#include "both.cuh"
#include "buckets.cuh"
#include "cache.cuh"
#include "calibration.cuh"
#include "columns.cuh"
#include "curves.cuh"
#include "growth.cuh"
#include "heaps.cuh"
#include "pairs.cuh"
#include "select.cuh"
#include "table_a.cuh"

namespace holdfast::bench {

void Setup::take(CLI::App& app) {
  app.add_option("--items", items, "items in the table")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--value-bytes", value_bytes, "a multiple of 8")->check(CLI::Range(8, 65536))->capture_default_str();
  app.add_option("--pool", pool, "the pool; it is replaced, and removed at the end")->capture_default_str();
  app.add_option("--order-from", order_from, "rows from which a batch is ordered; 0: as the table decides");
  app.add_option("--value-ratio", cache.ratio, "of all values, the part whose copies are kept in GPU memory");
  app.add_option("--load-every", cache.load_every, "rows searched between two loads of them");
  app.add_option("--gpu-memory", gpu_memory, "bytes for copies of buckets; half of what is free if not given");
  app.add_option("--bucket-ratio", cache.bucket_ratio, "of all buckets, the part that has copies at most");
  app.add_option("--changes", changes, "after the searches, updates, erases and a second opening");
  app.add_option("--curves", curves, "cache: policies, sizes and skews too");
  app.add_option("--seconds", seconds, "after which runs that have not begun are left out");
  app.add_option("--most-slots", most_slots, "recovery: of the largest table")->capture_default_str();
  app.callback([this] {
    if (value_bytes % 8 != 0) throw CLI::ValidationError("--value-bytes", "it is no multiple of 8");
    spare = items / 6;  // cells for a batch of updates
  });
}

}  // namespace holdfast::bench
