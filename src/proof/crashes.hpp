// crashes.hpp: crashes a subject at every call of the system, opens each folder that this can leave, and crashes that too.
#pragma once

#include <string>

#include "proof/images.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// `root`: an empty folder to work in. Not `on_disk`: in memory, and so without power cuts. Ends early when much is wrong.
Counts crash_everywhere(Subject& subject, const std::string& root, bool on_disk, const Bounds& bounds = {});

}  // namespace holdfast::proof
