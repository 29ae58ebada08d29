// epochs.hpp: who is still reading, as words in GPU memory (epochs.cuh).
#pragma once

#include <cstdint>

namespace holdfast::reclaim::cuda {

/// What is retired in epoch e can be reused in epoch e + 2: by then all that entered in e or before have left. It begins with epoch 3.
struct alignas(128) Epochs {
  std::uint64_t epoch;
  std::uint64_t inside[3];  ///< by epoch % 3
};

}  // namespace holdfast::reclaim::cuda
