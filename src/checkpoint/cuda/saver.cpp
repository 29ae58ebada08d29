// saver.cpp: tensors of a GPU come into a copy: staged in GPU memory, or straight.
#include <algorithm>
#include <cstring>

#include "checkpoint/cuda/cuda_side.hpp"

namespace holdfast::checkpoint::cuda {

namespace {

constexpr char kDoing[] = "saving tensors";

class CudaTransfer final : public Transfer {
 public:
  explicit CudaTransfer(std::shared_ptr<const CudaPlan> plan) : plan_(std::move(plan)), ended_(true) {}
  void wait() const override {
    const gpu::OnDevice on(plan_->device);
    ended_.wait(kDoing);
  }
  gpu::Event& ended() { return ended_; }

 private:
  std::shared_ptr<const CudaPlan> plan_;  ///< a kernel's table is copied from it
  gpu::Event ended_;
};

void copy(void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  gpu::check(cudaMemcpyAsync(to, from, bytes, kind, stream), kDoing);
}

}  // namespace

std::unique_ptr<Transfer> Saver::save(std::shared_ptr<const CudaPlan> plan, const CopyParts& copy, std::uint64_t blocks,
                                      cudaStream_t stream, bool staged, bool mapped) {
  auto transfer = std::make_unique<CudaTransfer>(plan);
  try {
    if (staged && mapped) {
      stage(*plan, copy, blocks, stream);
    } else if (mapped) {
      copy_straight(*plan, copy, blocks, stream);
    } else {
      copy_unmapped(*plan, copy, blocks, stream);
    }
    summed_.record(summing_);
    summed_.hold(copying_);
    free_.record(copying_);
    transfer->ended().record(copying_);
    if (!staged || !mapped) free_.hold(stream);
  } catch (...) {
    // The copy will be another save's, and the plan's memory another's.
    static_cast<void>(cudaStreamSynchronize(stream));
    static_cast<void>(cudaStreamSynchronize(copying_));
    static_cast<void>(cudaStreamSynchronize(summing_));
    throw;
  }
  return transfer;
}

/// For the staged state, once the one before has left it.
void Saver::make_space(std::size_t bytes) {
  if (bytes <= staged_.size()) return;
  free_.wait(kDoing);
  const std::size_t had = staged_.size();
  std::size_t free = 0, all = 0;
  gpu::check(cudaMemGetInfo(&free, &all), "asking for free GPU memory");
  const auto refuse = [&] {
    throw DeviceError("a save stages " + std::to_string(bytes) + " bytes of tensors in GPU memory, of which " +
                      std::to_string(free + had) + " bytes are free: free some, or save with stage=false");
  };
  if (bytes > free + had) refuse();
  try {
    staged_.at_least(bytes);
  } catch (const DeviceError&) {
    if (gpu::is_sticky(cudaPeekAtLastError())) throw;
    refuse();
  }
}

/// The table comes to the GPU; returns the sources in it.
Sources Saver::upload(const CudaPlan& plan, cudaStream_t stream) {
  if (plan.table_bytes() > table_.size()) {
    free_.wait(kDoing);
    table_.at_least(plan.table_bytes());
  }
  free_.hold(stream);
  copy(table_.data(), plan.table(), plan.table_bytes(), cudaMemcpyHostToDevice, stream);
  return {reinterpret_cast<const Placed*>(table_.data() + plan.pieces_bytes()), plan.tensors.size(), {}};
}

/// `stream` gathers, range by range; the link follows it.
void Saver::stage(const CudaPlan& plan, const CopyParts& to, std::uint64_t blocks, cudaStream_t stream) {
  make_space(plan.end);
  upload(plan, stream);
  std::byte* const staged = staged_.data();
  std::size_t piece = 0, large = 0;
  std::uint64_t at = 0;
  for (const GatherRange& range : plan.gathering.ranges) {
    gather(pieces() + piece, range.pieces_end - piece, staged, stream);
    piece = range.pieces_end;
    for (; large < range.large_end; ++large) {
      const Placed& tensor = plan.gathering.large[large];
      copy(staged + tensor.offset, tensor.memory, tensor.bytes, cudaMemcpyDeviceToDevice, stream);
    }
    gathered_.record(stream);
    gathered_.hold(copying_);
    copy(to.data + at, staged + at, range.end - at, cudaMemcpyDeviceToHost, copying_);
    at = range.end;
  }
  gathered_.hold(summing_);
  sum({nullptr, 1, {staged, 0, plan.end}}, 0, blocks, to.data_bytes, to.sums, summing_);
}

/// The copy engine and a kernel write to the pool side by side.
void Saver::copy_straight(const CudaPlan& plan, const CopyParts& to, std::uint64_t blocks, cudaStream_t stream) {
  begun_.record(stream);
  begun_.hold(copying_);
  begun_.hold(summing_);
  const Sources sources = upload(plan, summing_);
  gather(pieces(), plan.gathering.pieces.size(), to.data, summing_);
  for (const Placed& tensor : plan.gathering.large) {
    copy(to.data + tensor.offset, tensor.memory, tensor.bytes, cudaMemcpyDeviceToHost, copying_);
  }
  sum(sources, 0, blocks, to.data_bytes, to.sums, summing_);
}

/// Kernels cannot write to the pool: each tensor is copied by itself, and CUDA returns when it was.
void Saver::copy_unmapped(const CudaPlan& plan, const CopyParts& to, std::uint64_t blocks, cudaStream_t stream) {
  begun_.record(stream);
  begun_.hold(copying_);
  begun_.hold(summing_);
  const Sources sources = upload(plan, summing_);
  const gpu::DeviceBuffer<std::uint64_t> sums(blocks);
  sum(sources, 0, blocks, to.data_bytes, sums.data(), summing_);
  for (const Piece& piece : plan.gathering.pieces) {
    std::memset(to.data + piece.offset + piece.bytes, 0, piece.zeros);
  }
  for (const Placed& tensor : plan.tensors) {
    copy(to.data + tensor.offset, tensor.memory, tensor.bytes, cudaMemcpyDeviceToHost, copying_);
  }
  if (blocks != 0) copy(to.sums, sums.data(), 8 * blocks, cudaMemcpyDeviceToHost, summing_);
  summing_.wait(kDoing);
  copying_.wait(kDoing);
}

}  // namespace holdfast::checkpoint::cuda
