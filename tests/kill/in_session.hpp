// in_session.hpp: carries out a batch in a kernel of its own, for the writers of the kill test.
#pragma once

#include "holdfast/table.hpp"
#include "support/numbers.hpp"

namespace holdfast::test::kill {

/// As NumberedTable::run, in a session. False, and nothing is done: the batch, the table, or this build is none for a session.
bool run_in_session(NumberedTable& table, const Batch& batch);

}  // namespace holdfast::test::kill
