// faults.hpp: runs a subject again and again, and each time makes another call of the system fail.
#pragma once

#include <cstdint>
#include <string>

#include "proof/subject.hpp"

namespace holdfast::proof {

/// Which errors a call fails with: each that it may have; or one of them, another for the next call, and then fewer power cuts.
enum class Errors : std::uint8_t { all, alternating };

/// Every call fails once, with each error that it may have; and from then on too, for errors that last. After each run nothing is held
/// any more, and what is there is right: at once, and after a power cut. `root`: an empty folder to work in.
Counts fail_everywhere(Subject& subject, const std::string& root, bool on_disk, Errors errors = Errors::all);

}  // namespace holdfast::proof
