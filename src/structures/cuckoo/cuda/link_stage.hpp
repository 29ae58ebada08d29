// link_stage.hpp: pinned host memory for the arrays of a batch. Kernels read and write it over the link, so nothing is copied to the GPU or from it,
// and a batch is one launch.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "core/both.hpp"
#include "gpu/runtime.hpp"

namespace holdfast::cuckoo::cuda {

/// Arrays of a piece of a batch.
class LinkPiece {
 public:
  LinkPiece() = default;
  ~LinkPiece() { free(); }
  LinkPiece(const LinkPiece&) = delete;
  LinkPiece& operator=(const LinkPiece&) = delete;

  /// Begins another piece, whose arrays need `bytes` in all, in at most `kMostArrays`. No kernel uses the arrays of the piece before.
  void begin(std::size_t bytes) {
    used_ = 0;
    const std::size_t wanted = bytes + kMostArrays * kAlign;
    if (wanted <= size_) return;
    free();
    const std::size_t size = std::bit_ceil(wanted);
    gpu::check(cudaHostAlloc(reinterpret_cast<void**>(&memory_), size, cudaHostAllocPortable),
               "allocating pinned memory for batches");
    size_ = size;
  }
  template <class T>
  T* take(std::size_t rows) {
    T* const at = reinterpret_cast<T*>(memory_ + used_);
    used_ += (rows * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    HOLDFAST_ASSERT(used_ <= size_);
    return at;
  }
  template <class T>
  T* put(std::span<const T> rows) {
    T* const to = take<T>(rows.size());
    std::memcpy(to, rows.data(), rows.size_bytes());
    return to;
  }
  /// The same arrays can be taken again, in the same order.
  void rewind() { used_ = 0; }
  gpu::Event& ended() { return ended_; }

 private:
  static constexpr std::size_t kAlign = 256, kMostArrays = 4;
  /// As the process ends CUDA may be gone already, and its memory with it.
  void free() noexcept {
    if (memory_ != nullptr && cudaFreeHost(memory_) != cudaSuccess) static_cast<void>(cudaGetLastError());
    memory_ = nullptr;
    size_ = 0;
  }

  std::byte* memory_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  gpu::Event ended_;  ///< of its kernels
};

/// Two pieces, used alternately, and the stream of their kernels. One batch at a time uses it.
class LinkStage {
 public:
  static constexpr std::size_t kPieceRows = std::size_t{1} << 16;

  const gpu::Stream& stream() const { return stream_; }
  LinkPiece& piece() { return pieces_[0]; }  ///< for one batch that is not cut
  /// Kernels are enqueued, until all have ended.
  void begin() { is_busy_ = true; }
  void end() { is_busy_ = false; }
  void settle() const noexcept {
    if (is_busy_) static_cast<void>(cudaStreamSynchronize(stream_));
  }

  /// Executes `size` rows in pieces, in their order. `begin(piece, from, rows)` takes the arrays of rows from `from` on and enqueues kernels; `end(piece, from, rows)`, when
  /// they are done, may take the arrays again; the next piece has begun then. A row's arrays have `row_bytes`.
  template <class Begin, class End>
  void in_pieces(std::size_t size, std::size_t row_bytes, const char* doing, const Begin& begin, const End& end) {
    this->begin();
    std::size_t begun[2] = {}, rows[2] = {};
    const auto finish = [&](unsigned i) {
      if (rows[i] == 0) return;
      pieces_[i].ended().wait(doing);
      pieces_[i].rewind();
      end(pieces_[i], begun[i], rows[i]);
      rows[i] = 0;
    };
    unsigned next = 0;
    for (std::size_t from = 0; from < size; from += rows[next], next = 1 - next) {
      finish(next);
      const std::size_t its = size - from < kPieceRows ? size - from : kPieceRows;
      pieces_[next].begin(its * row_bytes);
      begin(pieces_[next], from, its);
      pieces_[next].ended().record(stream_);
      begun[next] = from;
      rows[next] = its;
    }
    finish(next);
    finish(1 - next);
    this->end();
  }

 private:
  gpu::Stream stream_;
  LinkPiece pieces_[2];
  bool is_busy_ = false;
};

}  // namespace holdfast::cuckoo::cuda
