// cpu_table.hpp: an open group hashing table on the CPU.
#pragma once

#include <memory>

#include "structures/engine.hpp"
#include "structures/group/group_object.hpp"

namespace holdfast::group {

/// Recovers it first, where it was not closed. Throws ReadOnly, MediumError.
std::unique_ptr<structures::Engine> make_cpu_table(std::unique_ptr<GroupObject> object);

}  // namespace holdfast::group
