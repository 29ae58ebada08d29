// studies.hpp: the studies of DRAMHiT §4, one function each; the result is JSON with every repetition.
#pragma once

#include <map>
#include <string>

#include "dramhit/frame.hpp"

namespace holdfast::bench::dramhit {

Json study_bars(const Setup& setup);   ///< get, put, absent and upsert beside the limits of memory and Folklore
Json study_peers(const Setup& setup);  ///< the same beside the peers
Json study_depth(const Setup& setup);  ///< get and put by the depth of the queue

/// All studies by their names.
const std::map<std::string, Json (*)(const Setup&)>& studies();

}  // namespace holdfast::bench::dramhit
