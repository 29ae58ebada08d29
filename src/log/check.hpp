// check.hpp: what can be verified of regions and logs, whose data have no checksums.
#pragma once

#include "holdfast/pool.hpp"
#include "log/cpu/memory.hpp"

namespace holdfast::pool {
class PoolFile;
}

namespace holdfast::log {

/// Of a region whose header is whole.
CheckReport report_on_region(bool clean);

/// The tails of a log. It may be in use.
CheckReport check_tails(CpuMemory& memory, const View<CpuMemory>& view);

/// The tails of a log of `pool` that is not open, and the undo entries of a transaction that a crash has left.
CheckReport check(const LogShape& shape, std::byte* data, const pool::PoolFile& pool);

}  // namespace holdfast::log
