// options.cpp: the records holdfastdb._native.CreateOptions and OpenOptions, and the records in them, with the members and
// the defaults of include/holdfast/options.hpp.
#include <nanobind/stl/optional.h>

#include "holdfast/options.hpp"
#include "native.hpp"

namespace nb = nanobind;

namespace holdfast::python {

void bind_options(nb::module_& module) {
  nb::class_<TableProperties>(module, "TableProperties")
      .def_rw("key_bytes", &TableProperties::key_bytes)
      .def_rw("value_bytes", &TableProperties::value_bytes)
      .def_prop_rw(
          "score", [](const TableProperties& shape) { return name(shape.score); },
          [](TableProperties& shape, const std::string& score) { shape.score = score_from(score); })
      .def_rw("capacity", &TableProperties::capacity)
      .def_rw("max_bytes", &TableProperties::max_bytes)
      .def_rw("levels", &TableProperties::levels)
      .def_rw("hash_locations", &TableProperties::hash_locations)
      .def_rw("slots", &TableProperties::slots)
      .def_rw("seed", &TableProperties::seed);
  nb::class_<Runtime>(module, "Runtime")
      .def_rw("device", &Runtime::device)
      .def_rw("threads", &Runtime::threads)
      .def_rw("verify", &Runtime::verify);
  nb::class_<CacheOptions>(module, "CacheOptions")
      .def_rw("ratio", &CacheOptions::ratio)
      .def_rw("memory", &CacheOptions::memory)
      .def_prop_rw(
          "policy", [](const CacheOptions& cache) { return name(cache.policy); },
          [](CacheOptions& cache, const std::string& policy) { cache.policy = cache_policy_from(policy); })
      .def_rw("bucket_ratio", &CacheOptions::bucket_ratio);
  nb::class_<Gpu>(module, "Gpu").def_rw("memory", &Gpu::memory).def_ro("cache", &Gpu::cache);
  nb::class_<Tuning>(module, "Tuning")
      .def_rw("moves", &Tuning::moves)
      .def_rw("shared_bias", &Tuning::shared_bias)
      .def_rw("flush", &Tuning::flush);
  nb::class_<CreateOptions>(module, "CreateOptions")
      .def(nb::init<>())
      .def_ro("shape", &CreateOptions::shape)
      .def_ro("runtime", &CreateOptions::runtime)
      .def_ro("gpu", &CreateOptions::gpu)
      .def_ro("tuning", &CreateOptions::tuning)
      .def_rw("overwrite", &CreateOptions::overwrite);
  nb::class_<OpenOptions>(module, "OpenOptions")
      .def(nb::init<>())
      .def_ro("runtime", &OpenOptions::runtime)
      .def_ro("gpu", &OpenOptions::gpu)
      .def_ro("tuning", &OpenOptions::tuning)
      .def_rw("read_only", &OpenOptions::read_only)
      .def_rw("salvage", &OpenOptions::salvage)
      .def_rw("key_bytes", &OpenOptions::key_bytes)
      .def_rw("value_bytes", &OpenOptions::value_bytes);
}

}  // namespace holdfast::python
