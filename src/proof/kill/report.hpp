// report.hpp: what a campaign of kills counted, as fields of a result file.
#pragma once

#include "proof/kill/campaign.hpp"
#include "proof/runs/results.hpp"

namespace holdfast::proof::kill {

Results results_of(const Campaign& campaign);
/// A line a failpoint: the kills there by the kinds of the subject, and what recovery mended after them.
std::string table_of(const Campaign& campaign);

}  // namespace holdfast::proof::kill
