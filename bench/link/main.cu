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
  bool changes = true, curves = true;
  std::uint64_t most_slots = std::uint64_t{1} << 30;
  std::string study = "table-a";
  app.add_option("study", study, "what to measure")
      ->check(CLI::IsMember({"table-a", "phases", "heap", "large", "resize", "recovery", "batches", "skew", "keys",
                             "shapes", "cache", "buckets", "both", "rivals", "factors", "pairs", "select", "columns",
                             "fill-and-die"}))
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
  app.add_option("--changes", changes, "after the searches, updates, erases and a second opening");
  app.add_option("--curves", curves, "cache: policies, sizes and skews too");
  app.add_option("--seconds", setup.seconds, "after which runs that have not begun are left out");
  app.add_option("--most-slots", most_slots, "recovery: of the largest table")->capture_default_str();
  CLI11_PARSE(app, count, words);
  if (setup.value_bytes % 8 != 0) {
    std::fprintf(stderr, "link: --value-bytes %u is no multiple of 8\n", setup.value_bytes);
    return 2;
  }
  setup.spare = setup.items / 6;  // cells for a batch of updates
  Json result;
  if (study == "fill-and-die") {
    fill_and_die(setup);
  } else if (study == "table-a") {
    Bench bench(setup);
    result = table_a(bench, changes);
    result["failed"] = bench.failed();
  } else if (study == "phases") {
    result = phases_study(setup);
  } else if (study == "heap") {
    result = heap_study(setup);
  } else if (study == "large") {
    result = large_study(setup);
  } else if (study == "resize") {
    result = resize_study(setup);
  } else if (study == "recovery") {
    result = recovery_study(setup, most_slots);
  } else if (study == "batches") {
    result = batches_study(setup);
  } else if (study == "cache") {
    result = cache_study(setup, curves);
  } else if (study == "buckets") {
    result = buckets_study(setup);
  } else if (study == "both") {
    result = both_study(setup);
  } else if (study == "keys") {
    result = keys_study(setup);
  } else if (study == "rivals") {
    result = rivals_study(setup);
  } else if (study == "factors") {
    result = factors_study(setup);
  } else if (study == "pairs") {
    result = pairs_study(setup);
  } else if (study == "columns") {
    result = columns_study(setup);
  } else if (study == "select") {
    result = select_study(setup);
  } else if (study == "shapes") {
    result = shapes_study(setup);
  } else {
    result = skew_study(setup);
  }
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
