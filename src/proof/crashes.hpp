// crashes.hpp: crashes a subject at every call of the system, opens each folder that this can leave, and crashes that too.
#pragma once

#include <string>

#include "proof/images.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// `root`: an empty folder to work in. Not `on_disk`: in memory, and so without power cuts. Ends early when much is wrong.
Counts crash_everywhere(Subject& subject, const std::string& root, bool on_disk, const Bounds& bounds = {});

/// The same of persistent memory (medium `dax`), where the power is cut between any two fences of the code that ships, and takes
/// nothing that was acknowledged, unless `as` says otherwise. Of the images of the run, and of their recoveries, at
/// most so many are tried: the same in each run.
Counts cut_power_everywhere(Subject& subject, const std::string& root, std::size_t most_images,
                            std::size_t most_recoveries, Crash as = Crash::kill);

}  // namespace holdfast::proof
