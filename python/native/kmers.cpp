// kmers.cpp: the class holdfastdb._native.KmerCounts, and k-mers as text. Counting runs without the interpreter lock.
#include <nanobind/stl/vector.h>

#include "holdfast/kmers.hpp"
#include "native.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

KmerCounts* create(unsigned k, bool canonical, unsigned min_quality, std::uint64_t lower, std::uint64_t upper,
                   unsigned threads, std::uint64_t memory, const std::string& folder, bool into_pool) {
  KmerOptions options;
  options.k = k;
  options.canonical = canonical;
  options.min_quality = min_quality;
  options.lower = lower;
  options.upper = upper;
  options.threads = threads;
  options.memory = memory;
  options.folder = folder;
  options.into_pool = into_pool;
  return new KmerCounts(options);
}

/// Asks for signals, and calls `progress(stage, done, total)` if it is not None. Both may raise.
KmerWatch watch_for(const nb::object& progress) {
  KmerWatch watch;
  watch.progress = [progress = nb::handle(progress)](const KmerProgress& state) {  // the caller holds it
    const Locked acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none()) call_back(progress, state.stage, state.done, state.total);
  };
  return watch;
}

void read(KmerCounts& counts, const std::vector<std::string>& files, const nb::object& progress) {
  const KmerWatch watch = watch_for(progress);
  const Unlocked released;
  counts.read(files, watch);
}

std::size_t next(KmerCounts& counts, std::uintptr_t kmers, std::uintptr_t numbers, std::size_t n,
                 const nb::object& progress) {
  const KmerWatch watch = watch_for(progress);
  const Unlocked released;
  return counts.next({at<std::uint64_t>(kmers), n}, {at<std::uint64_t>(numbers), n}, watch);
}

Dict stats(const KmerCounts& counts) {
  const KmerStats s = counts.stats();
  Dict result;
  result["records"] = s.input.records;
  result["records_without_kmers"] = s.input.records_without_kmers;
  result["files_without_kmers"] = s.input.files_without_kmers;
  result["bases"] = s.input.bases;
  result["kmers"] = s.counted.kmers;
  result["distinct"] = s.counted.distinct;
  result["text_bytes"] = s.input.text_bytes;
  result["spilled_bytes"] = s.bins.spilled_bytes;
  result["threads"] = s.machine.threads;
  result["memory"] = s.machine.memory;
  result["bins"] = s.bins.count;
  result["instructions"] = s.machine.instructions;
  result["reading"] = s.thread_time.reading;
  result["inflating"] = s.thread_time.inflating;
  result["splitting"] = s.thread_time.splitting;
  result["spilling"] = s.thread_time.spilling;
  result["counting"] = s.thread_time.counting;
  result["writing"] = s.thread_time.writing;
  result["read_seconds"] = s.wall_time.reading;
  result["count_seconds"] = s.wall_time.counting;
  return result;
}

nb::bytes text_of(std::uintptr_t kmers, std::uintptr_t counts, std::size_t n, unsigned k) {
  std::string text;
  {
    const Unlocked released;
    append_kmer_text(text, {at<const std::uint64_t>(kmers), n}, {at<const std::uint64_t>(counts), n}, k);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_kmers(nb::module_& module) {
  module.attr("least_k") = kLeastK;
  module.attr("most_k") = kMostK;
  nb::class_<KmerCounts>(module, "KmerCounts")
      .def_static("create", &create, "k"_a, "canonical"_a, "min_quality"_a, "lower"_a, "upper"_a, "threads"_a,
                  "memory"_a, "folder"_a, "into_pool"_a)
      .def("read", &read, "files"_a, "progress"_a.none())
      .def("next", &next, "kmers"_a, "counts"_a, "n"_a, "progress"_a.none(), "Returns how many were written.")
      .def("stats", &stats);
  module.def("kmer_text", &text_of, "kmers"_a, "counts"_a, "n"_a, "k"_a, "Lines \"ACGT 12\".");
}

}  // namespace holdfast::python
