// kit.hpp: the table's machine on a GPU is written in the terms of src/gpu and src/heap/cuda.
#pragma once

namespace holdfast::gpu {}
namespace holdfast::heap::cuda {}
namespace holdfast::machine::cuda {
using namespace gpu;
using namespace heap::cuda;
}  // namespace holdfast::machine::cuda
