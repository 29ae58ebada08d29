// children.hpp: what the killed processes do: one writes to the pool, another reopens it and reports what it finds.
#pragma once

#include <cstdint>

#include "shared.hpp"

namespace holdfast::test::kill {

/// In a journal's status byte: the key was there before the operation.
inline constexpr std::uint8_t kFoundBit = 0x80;

/// Creates or opens the pool and calls it from `round.threads` threads until it is killed. Returns an exit status.
int write_until_killed(Shared& shared);
/// Waits for `go`, opens the pool, copies all that it holds into `shared.found`, and ends as `shared.ending` says.
int reopen_and_report(Shared& shared);

}  // namespace holdfast::test::kill
