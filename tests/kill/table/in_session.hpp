// in_session.hpp: carries out a batch in a kernel of its own, or erases by a predicate there, for the writers of the kill test.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/table.hpp"
#include "support/numbers.hpp"

namespace holdfast::proof::kill {

/// As NumberedTable::run, in a session. False, and nothing is done: the batch, the table, or this build is none for a session.
bool run_in_session(test::NumberedTable& table, const Batch& batch);

/// Erases the keys of `numbers`, which rise, by a predicate on the GPU, which reads values too if it `reads` them. `found` says which were
/// there. False, and nothing is done: the table is not on a GPU.
bool erase_listed(test::NumberedTable& table, const std::vector<std::uint64_t>& numbers, bool reads,
                  std::vector<bool>& found);

}  // namespace holdfast::proof::kill
