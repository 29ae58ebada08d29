// cuda_side.hpp: the GPU's side of checkpoints with CUDA: streams, the staged state, and what of the pool is mapped.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/cuda/kernels.hpp"
#include "checkpoint/device_side.hpp"
#include "gpu/host_ranges.hpp"
#include "gpu/pinned.hpp"
#include "gpu/runtime.hpp"

namespace holdfast::checkpoint::cuda {

/// The GPU that all `tensors` are on. Throws InvalidArgument where one is elsewhere.
int gpu_of(std::span<const Placed> tensors);

/// Pieces and sources of a state, in pinned memory, as a kernel needs them in GPU memory.
class CudaPlan final : public DevicePlan {
 public:
  CudaPlan(std::span<const Placed> tensors, std::uint64_t end, gpu::PinnedMemory& pinned);

  const int device;
  const std::uint64_t end;  ///< of the data
  std::vector<Placed> tensors;
  Gathering gathering;
  std::size_t table_bytes() const { return pieces_bytes() + tensors.size() * sizeof(Placed); }
  std::size_t pieces_bytes() const { return gathering.pieces.size() * sizeof(Piece); }
  const std::byte* table() const { return table_.get(); }

 private:
  std::shared_ptr<std::byte[]> table_;
};

/// What one GPU has for saves; they follow each other.
class Saver {
 public:
  /// The caller's GPU is that of the plan.
  std::unique_ptr<Transfer> save(std::shared_ptr<const CudaPlan> plan, const CopyParts& copy, std::uint64_t blocks,
                                 cudaStream_t stream, bool stage, bool mapped);

 private:
  void make_space(std::size_t bytes);
  void stage(const CudaPlan& plan, const CopyParts& copy, std::uint64_t blocks, cudaStream_t stream);
  void copy_straight(const CudaPlan& plan, const CopyParts& copy, std::uint64_t blocks, cudaStream_t stream);
  void copy_unmapped(const CudaPlan& plan, const CopyParts& copy, std::uint64_t blocks, cudaStream_t stream);
  Sources upload(const CudaPlan& plan, cudaStream_t stream);
  const Piece* pieces() const { return reinterpret_cast<const Piece*>(table_.data()); }

  gpu::Stream copying_, summing_;
  gpu::Event begun_, gathered_, summed_;
  gpu::Event free_;  ///< the staged state and the table may be written again
  gpu::DeviceBuffer<std::byte> staged_, table_;
};

class CudaSide final : public DeviceSide {
 public:
  void map(std::byte* address, std::uint64_t bytes, bool read_only) override;
  void unmap(std::byte* address) noexcept override;
  std::shared_ptr<const DevicePlan> plan(std::span<const Placed> tensors, std::uint64_t end) override;
  std::unique_ptr<Transfer> save(std::shared_ptr<const DevicePlan> plan, const CopyParts& copy, std::uint64_t blocks,
                                 void* stream, bool stage) override;
  std::optional<std::uint64_t> load(std::span<const Placed> tensors, const CopyParts& copy, void* stream) override;

 private:
  bool is_mapped(const std::byte* memory) const;

  mutable std::mutex mutex_;  ///< guards what is mapped
  std::map<std::byte*, std::unique_ptr<gpu::HostRanges>> ranges_;
  std::map<std::byte*, std::uint64_t> sizes_;  ///< of those that could be mapped
  std::shared_ptr<gpu::PinnedMemory> pinned_ = std::make_shared<gpu::PinnedMemory>();
  std::mutex saving_;
  std::map<int, std::unique_ptr<Saver>> savers_;  ///< by GPU
};

}  // namespace holdfast::checkpoint::cuda
