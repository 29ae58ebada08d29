// pieces.hpp: batches that may stop between two pieces.
#pragma once

#include <cstddef>

#include "holdfast/batch.hpp"

namespace holdfast {

/// Whether the batch may be stopped: then it runs in smaller pieces.
inline bool in_pieces(const Batch& batch) { return batch.progress || batch.stop.stop_possible(); }

/// After a piece: whether the batch stops here.
inline bool stops_after(const Batch& batch, std::size_t done) {
  if (batch.progress) batch.progress(done);
  return batch.stop.stop_requested();
}

}  // namespace holdfast
