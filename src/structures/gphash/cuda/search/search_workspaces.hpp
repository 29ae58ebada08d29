// search_workspaces.hpp: GPU memory in which ordered searches work, each in a separate workspace as long as it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/kernels/pipelining.hpp"
#include "structures/gphash/cuda/kernels/search_workspace.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

/// Workspaces are lent, and lent again when the search before has ended, or to a search that its stream puts behind that.
/// The caller lets one thread in at a time.
class SearchWorkspaces {
 public:
  class Workspace {
   public:
    Workspace(std::uint64_t rows, bool wide);
    SearchWorkspace workspace() const { return workspace_; }
    std::uint64_t rows() const { return rows_; }
    Pipelining& pipelining() { return pipelining_; }
    /// Notes that the search has been enqueued.
    void end(cudaStream_t stream);
    /// A stream for what runs beside the search's own, between these moments of that.
    cudaStream_t beside() const { return beside_; }
    void fork(cudaStream_t stream) const;
    void join(cudaStream_t stream) const;

   private:
    friend class SearchWorkspaces;
    std::uint64_t rows_;
    bool wide_;
    DeviceBuffer<std::byte> memory_;
    SearchWorkspace workspace_;
    Pipelining pipelining_;
    Stream beside_;
    mutable Event forked_, joined_;
    Event ended_;
    cudaStream_t last_ = nullptr;
  };

  /// A workspace for `rows` rows. Work that `stream` gets from now on may use it.
  Workspace& lend(std::uint64_t rows, bool wide, cudaStream_t stream);

 private:
  static constexpr std::size_t kMost = 4;  ///< then a search waits, on the GPU, for one before it
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::size_t next_ = 0;
};

}  // namespace holdfast::gphash::cuda
