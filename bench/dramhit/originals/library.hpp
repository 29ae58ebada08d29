// library.hpp: tables whose code is in a shared library, as subjects of the measurements.
#pragma once

#include <memory>
#include <string>

#include "dramhit/originals/original.hpp"
#include "dramhit/subject.hpp"

namespace holdfast::bench::dramhit {

/// Loads the library at `path`, which stays loaded. Throws InvalidArgument if it cannot be loaded or does not export
/// `holdfast_volatile`.
const HoldfastVolatile& load_volatile(const std::string& path);

/// Throws Error if the library makes no table.
std::unique_ptr<Subject> volatile_subject(const HoldfastVolatile& original, std::uint64_t items);

}  // namespace holdfast::bench::dramhit
