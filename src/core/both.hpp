// both.hpp: marks what is compiled for the host and for the GPU, and states what must hold.
#pragma once

#include <cassert>

#if defined(__CUDACC__)
#define HOLDFAST_BOTH __host__ __device__
#else
#define HOLDFAST_BOTH
#endif

/// A condition that holds unless Holdfast is wrong. Checked in every build but Release.
#define HOLDFAST_ASSERT(condition) assert(condition)
