// adagrad.hpp: a step of row-wise Adagrad over rows in GPU memory, in one launch (python/holdfastdb/torch/optimizers.py).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace holdfast::gpu {

/// `size` rows of `columns` floats, each with its state behind it, and a gradient and the mean of its squares for each.
struct AdagradStep {
  float* rows = nullptr;
  const float* gradients = nullptr;
  const float* means = nullptr;
  std::uint64_t size = 0;
  std::uint32_t columns = 0;
  float lr = 0, eps = 0;
};

/// `state += mean`, then `row -= lr / (sqrt(state) + eps) * gradient`. Every operation is rounded by itself, and the division is a
/// reciprocal and a product, as in PyTorch.
void step_adagrad(const AdagradStep& step, cudaStream_t stream);

}  // namespace holdfast::gpu
