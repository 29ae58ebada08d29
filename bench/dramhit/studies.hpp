// studies.hpp: the studies of DRAMHiT §4, one function each; the result is JSON with every repetition.
#pragma once

#include <map>
#include <string>

#include "dramhit/frame.hpp"

namespace holdfast::bench::dramhit {

Json study_bars(const Setup& setup);       ///< get, put, absent and upsert beside the limits of memory and Folklore
Json study_peers(const Setup& setup);      ///< the same beside the peers
Json study_durable(const Setup& setup);    ///< get beside our durable table, whose mixed batches stand beside its finds
Json study_forms(const Setup& setup);      ///< what prefetch, partitions and SIMD each add
Json study_depth(const Setup& setup);      ///< get and put by the depth of the queue
Json study_small(const Setup& setup);      ///< a table in the caches beside Folklore
Json study_limits(const Setup& setup);     ///< Table 1: random lines, by threads
Json study_locks(const Setup& setup);      ///< Figure 2: lock and atomic increment, by skew
Json study_messages(const Setup& setup);   ///< Figure 5: cycles a message, producers by consumers
Json study_threads(const Setup& setup);    ///< Figure 6: put and get by threads
Json study_pollution(const Setup& setup);  ///< Figure 6c: other lines brought into the caches after each operation
Json study_batches(const Setup& setup);    ///< Figure 7: by the size of the batch
Json study_skew(const Setup& setup);       ///< Figure 8: by skew, and mixed with reads
Json study_latency(const Setup& setup);    ///< Figure 9: cycles from a call to its answer
Json study_churn(const Setup& setup);      ///< get before and after ten times the capacity came and went
Json study_growth(const Setup& setup);     ///< a table that grows beside one made large, and get meanwhile

/// All studies by their names.
const std::map<std::string, Json (*)(const Setup&)>& studies();

}  // namespace holdfast::bench::dramhit
