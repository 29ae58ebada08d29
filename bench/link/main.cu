// main.cu: holdfast-link-bench: a table in shared memory, worked on by a GPU from arrays in its own memory.
//
// Prints one JSON object to standard output, and what it does to standard error. Every answer is checked, on the GPU,
// after the clock has stopped; one wrong answer ends it with status 1. `scripts/gpu link studies` makes result files.
#include <CLI/CLI.hpp>
#include <cstdio>

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
namespace {

int run(int count, char** words) {
  CLI::App app("Measures a table in shared memory that a GPU works on, from arrays in GPU memory.");
  Setup setup;
  std::string study = "table-a";
  app.add_option("study", study, "what to measure")
      ->check(CLI::IsMember(Studies<Setup>::names()))
      ->capture_default_str();
  app.add_option("--items", setup.items, "items in the table")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--value-bytes", setup.value_bytes, "a multiple of 8")
      ->check(CLI::Range(8, 65536))
      ->capture_default_str();
  app.add_option("--pool", setup.pool, "the pool; it is replaced, and removed at the end")->capture_default_str();
  app.add_option("--order-from", setup.order_from, "rows from which a batch is ordered; 0: as the table decides");
  app.add_option("--value-ratio", setup.cache.ratio, "of all values, the part whose copies are kept in GPU memory");
  app.add_option("--load-every", setup.cache.load_every, "rows searched between two loads of them");
  app.add_option("--gpu-memory", setup.gpu_memory, "bytes for copies of buckets; half of what is free if not given");
  app.add_option("--bucket-ratio", setup.cache.bucket_ratio, "of all buckets, the part that has copies at most");
  app.add_option("--changes", setup.changes, "after the searches, updates, erases and a second opening");
  app.add_option("--curves", setup.curves, "cache: policies, sizes and skews too");
  app.add_option("--seconds", setup.seconds, "after which runs that have not begun are left out");
  app.add_option("--most-slots", setup.most_slots, "recovery: of the largest table")->capture_default_str();
  CLI11_PARSE(app, count, words);
  if (setup.value_bytes % 8 != 0) {
    std::fprintf(stderr, "link: --value-bytes %u is no multiple of 8\n", setup.value_bytes);
    return 2;
  }
  setup.spare = setup.items / 6;  // cells for a batch of updates
  Json result = Studies<Setup>::all().at(study)(setup);
  result["study"] = study;
  std::printf("%s\n", result.dump(1).c_str());
  return result["failed"].get<bool>() ? 1 : 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** words) {
  try {
    return holdfast::bench::run(count, words);
  } catch (const holdfast::Error& error) {
    std::fprintf(stderr, "link: %s\n", error.what());
    return 1;
  }
}
