// counts.cpp: the study `counts`: persists, lines and misses of a simulated cache, an operation. Figures 2b and 6.
#include "frame/json.hpp"
#include "structures/workload.hpp"

namespace holdfast::bench::structures {
namespace {

Json per_operation(const Counted& counted, bool counts_accesses, std::uint64_t operations) {
  const auto each = [&](std::uint64_t all) {
    return rounded(static_cast<double>(all) / static_cast<double>(operations));
  };
  Json figures{{"persists", each(counted.persists)}, {"lines_flushed", each(counted.lines_flushed)}};
  if (!counts_accesses) return figures;
  figures["lines_written"] = each(counted.lines_written);
  figures["lines_touched"] = each(counted.lines_touched);
  figures["simulated_misses"] = each(counted.misses);
  return figures;
}

Json study_counts(const Setup& setup) {
  Json rows = Json::array();
  for (const std::string& name : setup.traces) {
    for (const double load : setup.loads) {
      Workload workload(trace_named(name, setup), load, setup.operations, setup);
      const Plan plan{.item_bytes = workload.trace().item_bytes, .bits = workload.trace().bits, .pool = setup.pool};
      workload.begin_run();
      for (const std::string& scheme : schemes_of(setup)) {
        progress("counts: " + name + ", load " + std::to_string(load) + ", " + scheme);
        Measured table{scheme, counted_subject(scheme, plan)};
        workload.fill(table);
        for (const char* const operation : kOperations) {
          const Counted counted = workload.count(table, operation);
          Json row{{"trace", name}, {"load", load}, {"scheme", scheme}, {"operation", operation}};
          row.update(per_operation(counted, scheme != "table", workload.operations()));
          rows.push_back(row);
        }
      }
    }
  }
  return {{"operations", setup.operations}, {"cache", "simulated: 15 MB, 20 ways"}, {"rows", rows}};
}
const Study kCounts("counts", study_counts);

}  // namespace
}  // namespace holdfast::bench::structures
