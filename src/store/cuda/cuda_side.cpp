// cuda_side.cpp: copies between cells and GPU memory by the copy engines, in the order of the caller's stream.
#include "store/cuda/cuda_side.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/both.hpp"
#include "gpu/capture.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store {

std::unique_ptr<DeviceSide> make_device_side() { return std::make_unique<cuda::CudaSide>(); }

namespace cuda {

namespace {

constexpr char kDoing[] = "copying values of a store";
/// A copy of the engine takes one or two microseconds, in which the link moves twice as many bytes.
constexpr std::uint64_t kSmall = 32 << 10;

constexpr std::uintptr_t kMappedPage = 2 << 20;

/// Tables that kernels read, and the sums that one writes, in memory of the host.
struct Tables {
  Tables(gpu::PinnedMemory& pinned, const std::vector<Move>& small, const SumTable& table)
      : jobs_at(small.size() * sizeof(Move)),
        parts_at(jobs_at + table.jobs.size() * sizeof(SumJob)),
        sums_at(parts_at + table.parts.size() * sizeof(SumPart)),
        sums(table.jobs.size()) {
    static_assert(sizeof(Move) % 8 == 0 && sizeof(SumJob) % 8 == 0 && sizeof(SumPart) % 8 == 0);
    if (sums_at == 0) return;
    memory = pinned.take(sums_at + 8 * sums);
    const auto put = [&](std::size_t at, const auto& rows) {
      if (!rows.empty()) std::memcpy(memory.get() + at, rows.data(), rows.size() * sizeof rows[0]);
    };
    put(0, small);
    put(jobs_at, table.jobs);
    put(parts_at, table.parts);
  }
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory.get() + offset);
  }
  std::size_t jobs_at, parts_at, sums_at, sums;
  std::shared_ptr<std::byte[]> memory;
};

class CudaTransfer final : public Transfer {
 public:
  CudaTransfer(int device, const Tables& tables) : device_(device), tables_(tables), ended_(true) {}
  bool poll() override {
    const gpu::OnDevice on(device_);
    return ended_.passed();
  }
  void wait() override {
    const gpu::OnDevice on(device_);
    ended_.wait(kDoing);
  }
  std::span<const std::uint64_t> sums() const override {
    return {tables_.at<const std::uint64_t>(tables_.sums_at), tables_.sums};
  }
  gpu::Event& ended() { return ended_; }

 private:
  const int device_;
  const Tables tables_;
  gpu::Event ended_;
};

/// The GPU that has the memory of all moves.
int gpu_of(const std::vector<Move>& moves) {
  int device = -1;
  std::uintptr_t page = 0;
  for (const Move& move : moves) {
    // Memory of a GPU is mapped in pages of 2 MiB. To ask takes as long as to enqueue a copy.
    const auto its = reinterpret_cast<std::uintptr_t>(move.memory) / kMappedPage;
    if (device >= 0 && std::exchange(page, its) == its) continue;
    page = its;
    cudaPointerAttributes found = {};
    gpu::check(cudaPointerGetAttributes(&found, move.memory), "asking where a part of a value is");
    if (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged) {
      throw InvalidArgument("a part that is said to be on a GPU is in memory of the CPU: leave out on_device");
    }
    if (device >= 0 && found.device != device) {
      throw InvalidArgument("the parts of a call are on GPU " + std::to_string(device) + " and on GPU " +
                            std::to_string(found.device) + ": give those of one GPU");
    }
    device = found.device;
  }
  return device;
}

void require_usable(cudaStream_t stream, int device) {
  if (gpu::is_capturing(stream)) {
    throw InvalidArgument(
        "the stream is being captured into a CUDA graph, which cannot copy values of a store: give "
        "another");
  }
  gpu::require_stream(stream, device);
}

}  // namespace

void CudaSide::map(std::byte* address, std::uint64_t bytes, bool read_only) noexcept {
  const std::lock_guard guard(mutex_);
  try {
    ranges_.add(address, bytes, read_only);
    error_ = ranges_.error();
    if (error_.empty()) mapped_[address] = bytes;
  } catch (const std::exception& error) {
    error_ = error.what();
  }
}

void CudaSide::unmap(std::byte* address) noexcept {
  const std::lock_guard guard(mutex_);
  ranges_.remove(address);
  mapped_.erase(address);
}

std::string CudaSide::error() const {
  const std::lock_guard guard(mutex_);
  return error_;
}

const gpu::Stream& CudaSide::stream_of(int device, Use use) {
  const std::lock_guard guard(mutex_);
  auto& stream = streams_[device][static_cast<unsigned>(use)];
  if (!stream) stream = std::make_unique<gpu::Stream>();
  return *stream;
}

CudaSide::Cut CudaSide::cut(const std::vector<Move>& moves, Direction direction) const {
  Cut cut;
  const std::lock_guard guard(mutex_);
  for (Move move : moves) {
    if (move.bytes < kSmall) {
      cut.small.push_back(move);
      continue;
    }
    while (move.bytes != 0) {
      const auto next = mapped_.upper_bound(move.cell);
      HOLDFAST_ASSERT(next != mapped_.begin());
      const auto& [address, size] = *std::prev(next);
      HOLDFAST_ASSERT(move.cell < address + size);
      const std::uint64_t bytes = std::min(move.bytes, static_cast<std::uint64_t>(address + size - move.cell));
      direction == Direction::in ? cut.large.add(move.cell, move.memory, bytes)
                                 : cut.large.add(move.memory, move.cell, bytes);
      move = {move.cell + bytes, move.memory + bytes, move.bytes - bytes};
    }
  }
  return cut;
}

void CudaSide::clear(std::byte* memory, std::uint64_t bytes, void* stream) {
  const int device = gpu_of({{nullptr, memory, bytes}});
  const gpu::OnDevice on(device);
  require_usable(static_cast<cudaStream_t>(stream), device);
  gpu::check(cudaMemsetAsync(memory, 0, bytes, static_cast<cudaStream_t>(stream)), kDoing);
}

std::shared_ptr<Transfer> CudaSide::copy(const std::vector<Move>& moves, Direction direction, void* stream,
                                         const SumTable& sums) {
  const int device = gpu_of(moves);
  const gpu::OnDevice on(device);
  auto* const its = static_cast<cudaStream_t>(stream);
  require_usable(its, device);
  const bool is_in = direction == Direction::in;
  const Cut cut = this->cut(moves, direction);
  const Tables tables(*pinned_, cut.small, sums);
  const auto transfer = std::make_shared<CudaTransfer>(device, tables);
  // The legacy default stream takes no batches, and would order the copies among those of all streams.
  const bool has_stream = its != nullptr && its != cudaStreamLegacy;
  const cudaStream_t copying = has_stream ? its : stream_of(device, is_in ? Use::copies_in : Use::copies_out);
  const cudaStream_t summing = sums.jobs.empty() ? copying : stream_of(device, Use::sums);
  gpu::Event begun, summed;
  try {
    begun.record(its);
    if (!has_stream) begun.hold(copying);
    if (summing != copying) {
      begun.hold(summing);
      take_sums(tables.at<SumJob>(tables.jobs_at), tables.sums, tables.at<SumPart>(tables.parts_at),
                tables.at<std::uint64_t>(tables.sums_at), summing);
      summed.record(summing);
    }
    move_small(tables.at<Move>(0), cut.small.size(), direction, copying);
    gpu::enqueue(cut.large, is_in ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, copying);
    if (summing != copying) summed.hold(copying);
    transfer->ended().record(copying);
    if (!has_stream) transfer->ended().hold(its);
  } catch (...) {
    static_cast<void>(cudaStreamSynchronize(copying));  // none is under way
    static_cast<void>(cudaStreamSynchronize(summing));
    throw;
  }
  return transfer;
}

}  // namespace cuda

}  // namespace holdfast::store
