// kernels.hpp: what tables of keys and values of fixed lengths ask of the code compiled for their configuration; pair_kernels.hpp has
// what those of others do.
#pragma once

#include <memory>

#include "structures/gphash/cuda/kernels/change_kernels.hpp"
#include "structures/gphash/cuda/kernels/search_kernels.hpp"
#include "structures/gphash/cuda/kernels/table_kernels.hpp"

namespace holdfast::gphash::cuda {

class Kernels : public TableKernels, public SearchKernels, public ChangeKernels {
 public:
  using Workspace = ChangeWorkspace;
  using Cells = JobRing;
};

std::unique_ptr<Kernels> make_kernels(const gphash::RuntimeShape& shape);
std::unique_ptr<Kernels> make_default_kernels();
std::unique_ptr<Kernels> make_wide_kernels();  ///< the default configuration, with wide keys
std::unique_ptr<Kernels> make_runtime_kernels(const gphash::RuntimeShape& shape);

}  // namespace holdfast::gphash::cuda
