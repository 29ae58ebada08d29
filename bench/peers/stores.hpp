// stores.hpp: durable key-value stores that a benchmark compares Holdfast with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peers/target.hpp"

namespace holdfast::bench {

/// An empty store with room for `capacity` values in a folder of its own, which the caller removes. Throws InvalidArgument
/// where it is not built in.
std::unique_ptr<Target> lmdb_target(const std::string& folder, std::uint64_t capacity, std::size_t value_bytes);
std::unique_ptr<Target> rocksdb_target(const std::string& folder, std::uint64_t capacity, std::size_t value_bytes);
/// Names of those that this build has.
std::vector<std::string> stores();

}  // namespace holdfast::bench
