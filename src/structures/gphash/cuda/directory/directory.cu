// directory.cu: space for a key directory, in which nothing is known at first.
#include "structures/gphash/cuda/directory/directory.hpp"

#include <algorithm>
#include <bit>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/protocol/key_directory.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr unsigned kHintsForPosition = 4;  ///< space for hints, at most; at least half of it

__global__ void __launch_bounds__(kThreads)
    blank_kernel(const __grid_constant__ DirectoryView directory, std::uint64_t positions) {
  for (std::uint64_t i = first_of_thread(); i < positions; i += all_threads()) *directory.record(i) = gphash::kBlank;
}

}  // namespace

std::uint64_t Directory::bytes_per_position() const {
  return record_words_ == 0 ? 0 : 8 * record_words_ + 4 * kHintsForPosition;
}

void Directory::cover(std::uint64_t positions, cudaStream_t stream) {
  drop();
  if (record_words_ == 0) return;
  const std::uint64_t sets = std::bit_floor(std::max<std::uint64_t>(1, positions * kHintsForPosition / kHintsOfSet));
  records_ = DeviceBuffer<std::uint64_t>(positions * record_words_);
  hints_ = DeviceBuffer<std::uint32_t>(sets * kHintsOfSet);
  view_ = {records_.data(), record_words_, hints_.data(), sets - 1};
  cuda::check(cudaMemsetAsync(hints_.data(), 0, 4 * hints_.size(), stream), "making a cache");
  clear(stream);
}

/// Hints say nothing of blank records.
void Directory::clear(cudaStream_t stream) {
  if (!view_.any()) return;
  const std::uint64_t positions = records_.size() / view_.words;
  blank_kernel<<<blocks_for(blank_kernel, positions), kThreads, 0, stream>>>(view_, positions);
  check_launch("making a cache");
  cuda::check(cudaStreamSynchronize(stream), "making a cache");
}

void Directory::drop() {
  records_ = {};
  hints_ = {};
  view_ = {};
}

}  // namespace holdfast::gphash::cuda
