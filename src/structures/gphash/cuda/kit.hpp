// kit.hpp: the table's machine on a GPU is written in the terms of src/gpu.
#pragma once

namespace holdfast::gpu {}
namespace holdfast::machine::cuda {
using namespace gpu;
}
