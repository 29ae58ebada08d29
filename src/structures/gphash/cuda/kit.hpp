// kit.hpp: the table's machine on a GPU is written in the terms of src/gpu and src/heap/cuda.
#pragma once

namespace holdfast::gpu {}
namespace holdfast::heap::cuda {}
namespace holdfast::gphash::cuda {
using namespace gpu;
using namespace heap::cuda;
}  // namespace holdfast::gphash::cuda
