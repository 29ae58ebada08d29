// helper_thread.hpp: work on a helper thread, so that the thread that reports progress holds none of the gates that it passes.
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::table {

/// Gets how much is done, and of how much; false: stop.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

/// Runs `work` on another thread and waits for it. This thread passes the progress of `work` to `ask`: the first time with nothing
/// done, the last with the last progress. False if `ask` did. Throws what either throws, and then the work has ended;
/// SystemError where no thread can be started.
bool run_on_helper_thread(const std::function<void(const Progress&)>& work, const Progress& ask);

}  // namespace holdfast::table
