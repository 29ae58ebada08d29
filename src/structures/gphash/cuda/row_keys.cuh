// row_keys.cuh: the keys of a batch's rows: of one length and side by side, or of any and each where the batch's offsets say.
#pragma once

#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/protocol/key.hpp"

namespace holdfast::gphash::cuda {

/// The bytes of a row's key of any length.
template <class Job>
__device__ gphash::Part key_part(const Job& job, std::uint64_t row) {
  const std::uint64_t begin = job.key_offsets[row];
  return {job.keys + begin, static_cast<std::uint32_t>(job.key_offsets[row + 1] - begin)};
}

// By the kind of item: the key of a row, and the same where its word, of other than narrow keys the hash, is known already.
template <class Shape, class Job>
__device__ gphash::Key key_of_row(gphash::ItemKind<true>, const View<Shape>& view, const Job& job, std::uint64_t row) {
  const gphash::Part part = key_part(job, row);
  return {gphash::hash_of(part, view.seed), part};
}
template <class Shape, class Job>
__device__ gphash::Key key_of_row(gphash::ItemKind<true>, const View<Shape>&, const Job& job, std::uint64_t row,
                                  std::uint64_t word) {
  return {word, key_part(job, row)};
}
template <class Shape, class Job>
__device__ gphash::Key key_of_row(gphash::ItemKind<false>, const View<Shape>& view, const Job& job, std::uint64_t row) {
  return gphash::given_key<CudaMemory>(view, job.keys + row * view.key_bytes());
}
template <class Shape, class Job>
__device__ gphash::Key key_of_row(gphash::ItemKind<false>, const View<Shape>& view, const Job& job, std::uint64_t row,
                                  std::uint64_t word) {
  if (!view.wide()) return word;
  return {word, job.keys + row * view.key_bytes(), false};
}

template <class Shape, class Job, class... Word>
__device__ gphash::Key key_of_row(const View<Shape>& view, const Job& job, std::uint64_t row, Word... word) {
  return key_of_row(gphash::ItemKindOf<Shape>{}, view, job, row, word...);
}

}  // namespace holdfast::gphash::cuda
