// mark_watch.hpp: whether an object's clean mark is durably cleared before the first byte of its data changes.
#pragma once

#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "proof/recorder.hpp"

namespace holdfast::proof {

/// What is wrong in `moments`, each after a call of the system or at the end: an object of `objects` whose data has changed since
/// `before`, while a crash could leave its clean mark. `on_disk`: as the device may have it; else as the file has it. Empty: nothing.
std::string changed_under_mark(const std::vector<ObjectInfo>& objects, const Recorder::Kept& before,
                               const std::vector<Recorder::Kept>& moments, bool on_disk);

/// Whether data of one of them is another at the end.
bool data_changed(const std::vector<ObjectInfo>& objects, const Recorder::Kept& before, const Recorder::Kept& after);

}  // namespace holdfast::proof
