// cuda_side.hpp: the GPU's side of a store with CUDA: which memory is mapped, and the streams of copies without one.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/host_ranges.hpp"
#include "gpu/many_copies.hpp"
#include "gpu/pinned.hpp"
#include "gpu/runtime.hpp"
#include "store/device_side.hpp"

namespace holdfast::store::cuda {

class CudaSide final : public DeviceSide {
 public:
  void map(std::byte* address, std::uint64_t bytes, bool read_only) noexcept override;
  void unmap(std::byte* address) noexcept override;
  std::string error() const override;
  std::shared_ptr<Transfer> copy(const std::vector<Move>& moves, Direction direction, void* stream,
                                 const SumTable& sums) override;
  void clear(std::byte* memory, std::uint64_t bytes, void* stream) override;

 private:
  /// A call's moves: for the copy engine, none of which crosses the end of a mapped range; and those that are too small for it.
  struct Cut {
    gpu::ManyCopies large;
    std::vector<Move> small;
  };
  Cut cut(const std::vector<Move>& moves, Direction direction) const;
  enum class Use : std::uint8_t { copies_in, copies_out, sums };
  const gpu::Stream& stream_of(int device, Use use);

  mutable std::mutex mutex_;
  gpu::HostRanges ranges_;
  std::map<std::byte*, std::uint64_t> mapped_;  ///< bytes, by address
  std::string error_;
  std::map<int, std::array<std::unique_ptr<gpu::Stream>, 3>> streams_;  ///< by GPU, then by use
  const std::shared_ptr<gpu::PinnedMemory> pinned_ = std::make_shared<gpu::PinnedMemory>();
};

/// Moves `count` small pieces, of a table that the GPU reads, by a kernel.
void move_small(const Move* moves, std::size_t count, Direction direction, cudaStream_t stream);

/// Writes the sum of each job, all in memory that the GPU reads and writes.
void take_sums(const SumJob* jobs, std::size_t count, const SumPart* parts, std::uint64_t* sums, cudaStream_t stream);

}  // namespace holdfast::store::cuda
