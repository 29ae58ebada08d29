// faults.hpp: runs a subject again and again, and each time makes another call of the system fail.
#pragma once

#include <string>

#include "proof/subject.hpp"

namespace holdfast::proof {

/// Every call fails once, with each error that it may have; and from then on too, for errors that last. After each run nothing is held
/// any more, and what is there is right: at once, and after a power cut. `root`: an empty folder to work in.
Counts fail_everywhere(Subject& subject, const std::string& root, bool on_disk);

}  // namespace holdfast::proof
