// report.hpp: what a campaign of kills counted, as a result file.
#pragma once

#include "campaign.hpp"
#include "support/results.hpp"

namespace holdfast::test::kill {

Results results_of(const Options& options, const Counts& counts);
/// A line a failpoint: the kills there by the kind of table, and what recovery mended after them.
std::string table_of(const Counts& counts);

}  // namespace holdfast::test::kill
