// kernels_impl.cuh: the kernels of one configuration. Included by one file for each.
#pragma once

#include "structures/gphash/cuda/change/change_kernels.cuh"
#include "structures/gphash/cuda/configurations/table_kernels.cuh"
#include "structures/gphash/cuda/kernels/kernels.hpp"
#include "structures/gphash/cuda/search/search_kernels.cuh"

namespace holdfast::gphash::cuda {

template <class Shape>
using KernelsImpl = ChangeKernelsImpl<Shape, SearchKernelsImpl<Shape, TableKernelsImpl<Shape, Kernels>>>;

}  // namespace holdfast::gphash::cuda
