// report.hpp: what a campaign of kills counted, as fields of a result file.
#pragma once

#include "campaign.hpp"
#include "support/results.hpp"

namespace holdfast::test::kill {

Results results_of(const Campaign& campaign);
/// A line a failpoint: the kills there by the kinds of the subject, and what recovery mended after them.
std::string table_of(const Campaign& campaign);

}  // namespace holdfast::test::kill
