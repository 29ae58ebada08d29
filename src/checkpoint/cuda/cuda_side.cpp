// cuda_side.cpp: which memory of the pool is mapped, which GPU has the tensors, and whose turn it is.
#include "checkpoint/cuda/cuda_side.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "gpu/capture.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

std::unique_ptr<DeviceSide> make_device_side() { return std::make_unique<cuda::CudaSide>(); }

namespace cuda {

namespace {

/// A save or a restore cannot be repeated by a graph: each uses another copy.
void require_usable(cudaStream_t stream, int device) {
  if (gpu::is_capturing(stream)) {
    throw InvalidArgument("the stream is being captured into a CUDA graph, which cannot save or restore: give another");
  }
  gpu::require_stream(stream, device);
}

}  // namespace

int gpu_of(std::span<const Placed> tensors) {
  int device = -1;
  for (const Placed& tensor : tensors) {
    cudaPointerAttributes found = {};
    gpu::check(cudaPointerGetAttributes(&found, tensor.memory), "asking where a tensor is");
    if (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged) {
      throw InvalidArgument("a tensor that is said to be on a GPU is in memory of the CPU: leave out on_device");
    }
    if (device >= 0 && found.device != device) {
      throw InvalidArgument("the tensors of a state are on GPU " + std::to_string(device) + " and on GPU " +
                            std::to_string(found.device) + ": use a checkpoint for each GPU");
    }
    device = found.device;
  }
  return device;
}

CudaPlan::CudaPlan(std::span<const Placed> given, std::uint64_t data_end, gpu::PinnedMemory& pinned)
    : device(gpu_of(given)),
      end(data_end),
      tensors(given.begin(), given.end()),
      gathering(gathering_of(given, data_end)) {
  const gpu::OnDevice on(device);
  table_ = pinned.take(table_bytes());
  if (pieces_bytes() != 0) std::memcpy(table_.get(), gathering.pieces.data(), pieces_bytes());
  std::memcpy(table_.get() + pieces_bytes(), tensors.data(), tensors.size() * sizeof(Placed));
}

void CudaSide::map(std::byte* address, std::uint64_t bytes, bool read_only) {
  const std::lock_guard guard(mutex_);
  auto& range = ranges_[address];
  if (range) return;
  range = std::make_unique<gpu::HostRanges>();
  range->add(address, bytes, read_only);
  if (range->error().empty()) sizes_[address] = bytes;
}

void CudaSide::unmap(std::byte* address) noexcept {
  const std::lock_guard guard(mutex_);
  ranges_.erase(address);
  sizes_.erase(address);
}

bool CudaSide::is_mapped(const std::byte* memory) const {
  const std::lock_guard guard(mutex_);
  for (const auto& [address, bytes] : sizes_) {
    if (memory >= address && memory < address + bytes) return true;
  }
  return false;
}

std::shared_ptr<const DevicePlan> CudaSide::plan(std::span<const Placed> tensors, std::uint64_t end) {
  return std::make_shared<const CudaPlan>(tensors, end, *pinned_);
}

std::unique_ptr<Transfer> CudaSide::save(std::shared_ptr<const DevicePlan> plan, const CopyParts& copy,
                                         std::uint64_t blocks, void* stream, bool stage) {
  auto mine = std::static_pointer_cast<const CudaPlan>(std::move(plan));
  const gpu::OnDevice on(mine->device);
  auto* const its = static_cast<cudaStream_t>(stream);
  require_usable(its, mine->device);
  const std::lock_guard in_order(saving_);
  auto& saver = savers_[mine->device];
  if (!saver) saver = std::make_unique<Saver>();
  return saver->save(std::move(mine), copy, blocks, its, stage, is_mapped(copy.data));
}

std::optional<std::uint64_t> CudaSide::load(std::span<const Placed> tensors, const CopyParts& copy, void* stream) {
  constexpr std::uint64_t kWindow = 32 << 20;
  constexpr unsigned kWindows = 4;  // in GPU memory at once
  const int device = gpu_of(tensors);
  const gpu::OnDevice on(device);
  auto* const its = static_cast<cudaStream_t>(stream);
  require_usable(its, device);
  const Scattering plan = scattering_of(tensors, copy.data_bytes, kWindow);
  const std::size_t pieces_bytes = plan.pieces.size() * sizeof(Piece);
  const std::uint64_t blocks = (copy.data_bytes + kBlock - 1) / kBlock;
  const std::shared_ptr<std::byte[]> table = pinned_->take(pieces_bytes + 8);
  std::memcpy(table.get() + 8, plan.pieces.data(), pieces_bytes);
  auto& damaged = *reinterpret_cast<std::uint64_t*>(table.get());
  damaged = ~std::uint64_t{0};

  // Streams go first at the end: they wait, so that nothing uses the buffers any more.
  gpu::DeviceBuffer<std::byte> there(pieces_bytes + 8),
      windows(std::min<std::uint64_t>(kWindows, plan.windows.size()) * kWindow);
  gpu::DeviceBuffer<std::uint64_t> sums(blocks);
  const gpu::Stream copying, working;
  gpu::Event begun, copied, taken[kWindows];
  const char* const doing = "restoring tensors";
  struct Ended {
    const gpu::Stream &copying, &working;
    ~Ended() {
      static_cast<void>(cudaStreamSynchronize(copying));
      static_cast<void>(cudaStreamSynchronize(working));
    }
  };
  {
    const Ended ended{copying, working};
    begun.record(its);
    begun.hold(working);
    gpu::check(cudaMemcpyAsync(there.data(), table.get(), pieces_bytes + 8, cudaMemcpyHostToDevice, working), doing);
    gpu::check(cudaMemcpyAsync(sums.data(), copy.sums, 8 * blocks, cudaMemcpyHostToDevice, working), doing);
    const auto* const pieces = reinterpret_cast<const Piece*>(there.data() + 8);
    for (std::size_t i = 0; i < plan.windows.size(); ++i) {
      const Window& window = plan.windows[i];
      const std::uint64_t bytes = window.end - window.begin;
      std::byte* const buffer = windows.data() + i % kWindows * kWindow;
      taken[i % kWindows].hold(copying);
      gpu::check(cudaMemcpyAsync(buffer, copy.data + window.begin, bytes, cudaMemcpyHostToDevice, copying), doing);
      copied.record(copying);
      copied.hold(working);
      verify({nullptr, 1, {buffer, window.begin, bytes}}, window.begin / kBlock, (bytes + kBlock - 1) / kBlock,
             copy.data_bytes, sums.data(), reinterpret_cast<std::uint64_t*>(there.data()), working);
      scatter(pieces + window.pieces_begin, window.pieces_end - window.pieces_begin, buffer, window.begin, working);
      taken[i % kWindows].record(working);
    }
    gpu::check(cudaMemcpyAsync(&damaged, there.data(), 8, cudaMemcpyDeviceToHost, working), doing);
    working.wait(doing);
  }
  if (damaged == ~std::uint64_t{0}) return std::nullopt;
  return damaged;
}

}  // namespace cuda

}  // namespace holdfast::checkpoint
