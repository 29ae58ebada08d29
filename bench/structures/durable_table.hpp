// durable_table.hpp: our durable Table in a pool, one key a call, flushed as domain `power` asks.
#pragma once

#include <memory>

#include "structures/subject.hpp"

namespace holdfast::bench::structures {

/// Null `emulation`: it counts instead.
std::unique_ptr<Subject> durable_table(const Plan& plan, const Emulation* emulation);

}  // namespace holdfast::bench::structures
