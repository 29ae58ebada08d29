// library.hpp: tables whose code is in a shared library, as subjects of the measurements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "structures/originals/original.hpp"
#include "structures/subject.hpp"

namespace holdfast::bench::structures {

/// Loads the library at `path`, which stays loaded. Throws InvalidArgument if it cannot be loaded or does not export
/// `holdfast_original`.
const HoldfastOriginal& load_original(const std::string& path);
/// All of `setup`; `peers` gets what a result says of them.
std::vector<const HoldfastOriginal*> load_originals(const Setup& setup, Json& peers);

/// A table of `original` for items of 16 bytes. It flushes through `emulation`. Throws Error if the library makes none.
std::unique_ptr<Subject> original_subject(const HoldfastOriginal& original, const Plan& plan,
                                          const Emulation& emulation);

}  // namespace holdfast::bench::structures
