// checks.hpp: the arguments of tables and batches, checked before anything happens.
#pragma once

#include <cstdint>
#include <string>

#include "core/operations.hpp"
#include "holdfast/table.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::table {

/// The geometry for `capacity` items at a load of 0.9 at most. Throws InvalidArgument for options that no pool can have.
gphash::TableShape shape_for(const TableProperties& wanted);

/// Throws InvalidArgument for options that no cache can have.
void check_cache(const CacheOptions& options);

/// Throws InvalidArgument if `runtime` asks to verify a table whose keys and values, of fixed sizes, have no checksum. `what` names it.
void check_verify(const Runtime& runtime, std::uint32_t value_bytes, const std::string& what);

/// The operations that a batch may ask for; all, where their codes lie in GPU memory. Throws InvalidArgument for a code that none has.
OpSet operations_of(const Batch& batch);

/// Throws InvalidArgument if `batch`, of such operations, does not fit a table with such keys and values.
void check_batch(const Batch& batch, OpSet ops, std::uint32_t key_bytes, std::uint32_t value_bytes);

}  // namespace holdfast::table
