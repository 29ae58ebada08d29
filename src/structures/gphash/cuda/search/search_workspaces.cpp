// search_workspaces.cpp: picks the workspace of an ordered search, and makes one where none is free.
#include "structures/gphash/cuda/search/search_workspaces.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "core/both.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::size_t kAlign = 256;
std::size_t aligned_up(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

SearchWorkspaces::Workspace::Workspace(std::uint64_t rows, bool wide) : rows_(rows), wide_(wide) {
  HOLDFAST_ASSERT(rows != 0);
  const std::size_t cell = wide ? 8 : 4, bins = (std::size_t{1} << kBinBits) + 1;
  workspace_.scratch_bytes = bins_scratch_bytes();
  std::size_t size = 0;
  const auto take = [&](auto*& array, std::size_t bytes) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(memory_.data() + size);
    size += aligned_up(bytes);
  };
  const auto take_all = [&] {
    size = 0;
    take(workspace_.epoch, sizeof(std::uint64_t));
    take(workspace_.ended, sizeof(std::uint32_t));
    take(workspace_.table, 2 * kSmallSearch * sizeof(std::uint64_t));
    take(workspace_.cells, rows * cell);
    take(workspace_.places, 2 * rows * cell);
    take(workspace_.ranks, rows * sizeof(std::uint32_t));
    take(workspace_.counts, bins * sizeof(std::uint32_t));
    take(workspace_.starts, bins * sizeof(std::uint32_t));
    take(workspace_.scratch, workspace_.scratch_bytes);
  };
  take_all();  // what it comes to
  memory_ = DeviceBuffer<std::byte>(size);
  take_all();
  const Stream alone;
  check(cudaMemsetAsync(workspace_.ended, 0, sizeof(std::uint32_t), alone), "making a workspace for a search");
  alone.wait("making a workspace for a search");
}

void SearchWorkspaces::Workspace::end(cudaStream_t stream) {
  last_ = stream;
  ended_.record(stream);
}

void SearchWorkspaces::Workspace::fork(cudaStream_t stream) const {
  forked_.record(stream);
  forked_.hold(beside_);
}
void SearchWorkspaces::Workspace::join(cudaStream_t stream) const {
  joined_.record(beside_);
  joined_.hold(stream);
}

SearchWorkspaces::Workspace& SearchWorkspaces::lend(std::uint64_t rows, bool wide, cudaStream_t stream) {
  const auto fits = [&](const Workspace& workspace) { return workspace.rows_ >= rows && workspace.wide_ == wide; };
  for (const auto& workspace : workspaces_) {
    if (!fits(*workspace) || (workspace->last_ != stream && !workspace->ended_.passed())) continue;
    workspace->ended_.hold(stream);  // a new stream can have the handle of one that is gone
    return *workspace;
  }
  if (workspaces_.size() < kMost) {
    workspaces_.push_back(std::make_unique<Workspace>(std::bit_ceil(std::max(rows, kSmallSearch)), wide));
    return *workspaces_.back();
  }
  std::unique_ptr<Workspace>& workspace = workspaces_[next_++ % kMost];
  if (fits(*workspace)) {
    workspace->ended_.hold(stream);
  } else {
    workspace->ended_.wait("waiting for a search");
    workspace = std::make_unique<Workspace>(std::bit_ceil(std::max(rows, kSmallSearch)), wide);
  }
  return *workspace;
}

}  // namespace holdfast::gphash::cuda
