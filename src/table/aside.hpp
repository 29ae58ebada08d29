// aside.hpp: work on a thread of its own, so that the thread that hears of its progress holds none of the gates that it passes.
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::table {

/// Told how much is done, and of how much; false: give up.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

/// Runs `work` on another thread and waits for it. What `work` tells its progress, this thread asks `ask`: the first time with nothing
/// done, the last with what was told last. False if `ask` said so. Throws what either throws, and then the work has ended;
/// SystemError where no thread can be started.
bool run_aside(const std::function<void(const Progress&)>& work, const Progress& ask);

}  // namespace holdfast::table
