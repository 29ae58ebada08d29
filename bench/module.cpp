// module.cpp: the benchmark's C++ half as the Python module _bench.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "frame/distribution.hpp"
#include "frame/keys.hpp"
#include "frame/timing.hpp"
#include "memory/layout.hpp"
#include "memory/limits.hpp"
#include "peers/stores.hpp"
#include "peers/target.hpp"
#include "table/drive.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::bench {
namespace {

constexpr const char* kKindNames[kKinds] = {"read", "absent", "update", "insert", "rmw", "erase"};

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Array<T> array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

std::unique_ptr<Target> create(const std::string& path, std::uint32_t value_bytes, std::uint64_t capacity,
                               const std::string& device, unsigned threads, bool moves, std::uint32_t shared_bias,
                               bool flush, std::uint32_t levels, std::uint32_t hash_locations, std::uint32_t slots,
                               std::uint64_t seed, double value_cache, const std::string& cache_policy) {
  CreateOptions options;
  options.gpu.cache.ratio = value_cache;
  options.gpu.cache.policy = cache_policy_from(cache_policy);
  options.shape.value_bytes = value_bytes;
  options.shape.capacity = capacity;
  options.runtime.device = device;
  options.runtime.threads = threads;
  options.tuning.moves = moves;
  options.tuning.shared_bias = shared_bias;
  options.tuning.flush = flush;
  options.shape.levels = levels;
  options.shape.hash_locations = hash_locations;
  options.shape.slots = slots;
  options.shape.seed = seed;
  options.overwrite = true;
  const nb::gil_scoped_release unlocked;
  return holdfast_target(Table::create(path, options));
}

std::unique_ptr<Target> open(const std::string& path, const std::string& device, unsigned threads, bool moves) {
  OpenOptions options;
  options.runtime.device = device;
  options.runtime.threads = threads;
  options.tuning.moves = moves;
  const nb::gil_scoped_release unlocked;
  return holdfast_target(Table::open(path, options));
}

Table& table_of(Target& target) {
  if (Table* table = target.table()) return *table;
  throw InvalidArgument(target.name() + " is not a Holdfast table");
}

nb::dict stats(Target& target) {
  const Stats s = table_of(target).stats();
  nb::dict d;
  d["device"] = s.machine.device;
  d["device_reason"] = s.machine.reason;
  d["medium"] = name(s.place.medium);
  d["domain"] = name(s.place.domain);
  d["size"] = s.space.size;
  d["slots"] = s.space.slots;
  d["cells"] = s.space.cells;
  d["moves"] = s.work.moves;
  d["resizes"] = s.growth.resizes;
  d["map_ms"] = s.recovery.map_ms;
  d["recovery_ms"] = s.recovery.recovery_ms;
  d["last_resize_ms"] = s.growth.last_resize_ms;
  d["last_resize_alloc_ms"] = s.growth.last_resize_alloc_ms;
  d["was_clean"] = s.recovery.was_clean;
  d["flush_instruction"] = s.machine.flush_instruction;
  d["tile"] = s.machine.tile;
  d["threads"] = s.machine.threads;
  return d;
}

Outcome drive_named(Target& target, std::uint64_t items, std::uint64_t operations, std::size_t batch, unsigned callers,
                    const nb::dict& shares, const std::string& distribution, double theta, std::uint64_t seed,
                    std::uint64_t key_seed, std::uint64_t version, bool unique, bool on_device) {
  Spec spec{.items = items,
            .operations = operations,
            .batch = batch,
            .callers = callers,
            .popularity = popularity_named(distribution),
            .theta = theta,
            .seed = seed,
            .key_seed = key_seed,
            .version = version,
            .unique = unique,
            .on_device = on_device};
  for (const auto& [key, value] : shares) {
    const auto kind_name = nb::cast<std::string>(key);
    unsigned kind = 0;
    while (kind < kKinds && kind_name != kKindNames[kind]) ++kind;
    if (kind == kKinds) throw InvalidArgument("no operation '" + kind_name + "' in workloads");
    spec.share[kind] = nb::cast<double>(value);
  }
  const nb::gil_scoped_release unlocked;
  return drive(target, spec);
}

nb::dict as_dict(Outcome&& outcome) {
  nb::dict d, counts, latencies;
  d["operations"] = outcome.operations;
  d["seconds"] = outcome.seconds;
  d["cpu_seconds"] = outcome.cpu_seconds;
  d["wrong"] = outcome.wrong;
  d["inserted"] = outcome.inserted;
  d["version"] = outcome.version;
  d["batch_us"] = array_of(std::move(outcome.batch_us));
  for (unsigned k = 0; k < kKinds; ++k) {
    if (outcome.count[k] == 0) continue;
    counts[kKindNames[k]] = outcome.count[k];
    latencies[kKindNames[k]] = array_of(std::move(outcome.kind_us[k]));
  }
  d["counts"] = counts;
  d["kind_us"] = latencies;
  return d;
}

nb::dict fill_table(Target& target, std::uint64_t first, std::uint64_t last, std::size_t batch, std::size_t fine_batch,
                    double fine_from, bool stop_at_resize, std::uint64_t key_seed) {
  Filling f;
  {
    const nb::gil_scoped_release unlocked;
    f = fill(table_of(target), first, last, batch, fine_batch, fine_from, stop_at_resize, key_seed);
  }
  nb::dict d;
  d["items"] = array_of(std::move(f.items));
  d["slots"] = array_of(std::move(f.slots));
  d["resizes"] = array_of(std::move(f.resizes));
  d["moves"] = array_of(std::move(f.moves));
  d["seconds"] = array_of(std::move(f.seconds));
  return d;
}

Array<std::uint64_t> draw(const std::string& distribution, std::uint64_t items, std::uint64_t count, double theta,
                          std::uint64_t seed) {
  const Distribution source(popularity_named(distribution), items, theta);
  Random random(seed);
  std::vector<std::uint64_t> drawn(count);
  for (std::uint64_t i = 0; i < count; ++i) drawn[i] = source.draw(random, items, i);
  return array_of(std::move(drawn));
}

Array<std::uint64_t> keys(std::uint64_t first, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> made(count);
  for (std::uint64_t i = 0; i < count; ++i) made[i] = key_of(first + i, seed);
  return array_of(std::move(made));
}

nb::dict snapshot(Target& target, const std::string& path, unsigned threads) {
  SnapshotOptions options;
  options.overwrite = true;
  options.threads = threads;
  SnapshotResult taken;
  {
    const nb::gil_scoped_release unlocked;
    taken = table_of(target).snapshot(path, options);
  }
  nb::dict d;
  d["items"] = taken.items;
  d["bytes"] = taken.bytes;
  d["written"] = taken.written;
  d["held_ms"] = taken.held_ms;
  d["total_ms"] = taken.total_ms;
  return d;
}

}  // namespace

NB_MODULE(_bench, m) {
  m.doc() = "Workloads, runners and peers of Holdfast's benchmarks; `python -m bench` is their user.";
  nb::class_<Target>(m, "Target", "A Holdfast table or a peer, as a benchmark drives it.")
      .def_prop_ro("name", &Target::name)
      .def_prop_ro("value_bytes", &Target::value_bytes)
      .def("__len__", &Target::size)
      .def("close", &Target::close, nb::call_guard<nb::gil_scoped_release>())
      .def("settle", &Target::settle, nb::call_guard<nb::gil_scoped_release>(), "After a load, before what is timed.")
      .def("stats", &stats)
      .def("snapshot", &snapshot, "path"_a, "threads"_a = 0, "A snapshot; replaces an existing file.")
      .def(
          "reserve", [](Target& t, std::uint64_t items) { table_of(t).reserve(items); }, "items"_a,
          nb::call_guard<nb::gil_scoped_release>());
  m.def("create", &create, "path"_a, "value_bytes"_a = 8, "capacity"_a = 1 << 20, "device"_a = "cpu", "threads"_a = 0,
        "moves"_a = true, "shared_bias"_a = 2, "flush"_a = false, "levels"_a = 2, "hash_locations"_a = 2, "slots"_a = 8,
        "seed"_a = 0, "value_cache"_a = 0.0, "cache_policy"_a = "lfu",
        "A new Holdfast table; replaces an existing file.");
  m.def("open", &open, "path"_a, "device"_a = "cpu", "threads"_a = 0, "moves"_a = true);
  m.def("libcuckoo", &libcuckoo_target, "capacity"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("tbb", &tbb_target, "capacity"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("lmdb", &lmdb_target, "folder"_a, "capacity"_a, "value_bytes"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("rocksdb", &rocksdb_target, "folder"_a, "capacity"_a, "value_bytes"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("stores", &stores, "Names of the durable stores that this build has.");
  m.def("peers", &peers, "Names of the peers that this build has.");
  m.def(
      "drive",
      [](Target& target, std::uint64_t items, std::uint64_t operations, std::size_t batch, unsigned callers,
         const nb::dict& shares, const std::string& distribution, double theta, std::uint64_t seed,
         std::uint64_t key_seed, std::uint64_t version, bool unique, bool on_device) {
        return as_dict(drive_named(target, items, operations, batch, callers, shares, distribution, theta, seed,
                                   key_seed, version, unique, on_device));
      },
      "target"_a, nb::kw_only(), "items"_a, "operations"_a, "batch"_a, "callers"_a, "shares"_a,
      "distribution"_a = "uniform", "theta"_a = 0.99, "seed"_a = 1, "key_seed"_a = 1, "version"_a = 0,
      "unique"_a = false, "on_device"_a = false,
      "Runs a workload and checks every answer: drive.hpp, Spec and Outcome.");
  m.def("fill", &fill_table, "target"_a, nb::kw_only(), "first"_a = 0, "last"_a, "batch"_a, "fine_batch"_a,
        "fine_from"_a = 2.0, "stop_at_resize"_a = false, "key_seed"_a = 1, "Fills a table, a sample a batch.");
  m.def("draw", &draw, "distribution"_a, "items"_a, "count"_a, "theta"_a = 0.99, "seed"_a = 1,
        "Items as a workload draws them.");
  m.def("keys", &keys, "first"_a, "count"_a, "seed"_a = 1, "Keys of consecutive items.");
  m.def("zeta", &zeta, "n"_a, "theta"_a);
  m.def(
      "spread",
      [](std::vector<double> repetitions) {
        const Spread s = spread_of(std::move(repetitions));
        nb::dict d;
        d["median"] = s.median;
        d["low"] = s.low;
        d["high"] = s.high;
        d["all"] = s.all;
        return d;
      },
      "repetitions"_a, "A figure's repetitions as C++ programs sum them up: frame/timing.hpp.");
  m.def("ratio_of", &ratio_of, "above"_a, "below"_a, "One figure by another, repetition by repetition.");
  m.def(
      "popular_item", [](std::uint64_t rank, std::uint64_t items) { return Permutation(items)(rank); }, "rank"_a,
      "items"_a, "The item that a zipfian distribution puts at `rank` (0: the most popular).");
  m.def(
      "layout",
      [](bool together, std::uint64_t bytes, unsigned candidates, std::uint64_t operations, bool huge) {
        LayoutResult r;
        {
          const nb::gil_scoped_release unlocked;
          r = measure_layout(together, bytes, candidates, operations, huge);
        }
        nb::dict d;
        d["find_per_second"] = r.find_per_second;
        d["absent_per_second"] = r.absent_per_second;
        d["insert_per_second"] = r.insert_per_second;
        d["load_factor"] = r.load_factor;
        d["wrong"] = r.wrong;
        return d;
      },
      "together"_a, "bytes"_a, "candidates"_a, "operations"_a, "huge_pages"_a = false,
      "Rule 8: 16-byte slots against key words together.");
  m.def(
      "limit",
      [](const std::string& what, std::uint64_t bytes, std::uint64_t operations, unsigned threads, bool huge) {
        const nb::gil_scoped_release unlocked;
        return measure_limit(what, bytes, operations, threads, huge);
      },
      "what"_a, "bytes"_a, "operations"_a, "threads"_a, "huge_pages"_a = false,
      "Operations (or bytes, for sequential ones) a second: limits.hpp.");
}

}  // namespace holdfast::bench
