// in_kernel.hpp: calls of a log and updates of a transaction in kernels, for the writers of the subject log.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/transaction.hpp"
#include "kill/log/shared.hpp"

namespace holdfast::proof::kill {

/// `insert`, `remove` or `clear` at a place, by a thread of a kernel.
LogStatus call_in_kernel(Log& log, LogCall call, std::uint32_t place, const LogValue& value);

/// The updates of a transaction, those of each place by the thread that has it, all threads at once. `ok`, or the last other status.
LogStatus update_in_kernel(Transaction& batch, std::uint32_t threads, const std::vector<LogUpdate>& updates);

}  // namespace holdfast::proof::kill
