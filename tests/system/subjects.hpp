// subjects.hpp: the operations that are run under crashes and faults, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proof/subject.hpp"

namespace holdfast::proof {

/// `large`: also those whose files take some megabytes; but not those of stores, store_changes, store_copied, store_grows, store_killed.
std::vector<std::string> subject_names(bool large);
std::unique_ptr<Subject> make_subject(const std::string& name);

}  // namespace holdfast::proof
