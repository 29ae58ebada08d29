// parallel.hpp: a range of work in steps, by several threads, while the caller is asked whether to continue.
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::threads {

/// Cuts [0, total) into steps of at most `step` and calls part(begin, end) for them on `threads` threads, while the calling
/// thread asks `go_on(done)` before, now and then, and after all. Returns false if that said no: then what runs is finished, and
/// the rest left. What a part or `go_on` throws is thrown on, after all threads have ended. Where the system starts fewer threads,
/// those do the work; where it starts none, SystemError.
bool in_parallel(std::uint64_t total, std::uint64_t step, unsigned threads,
                 const std::function<void(std::uint64_t begin, std::uint64_t end)>& part,
                 const std::function<bool(std::uint64_t done)>& go_on);

}  // namespace holdfast::threads
