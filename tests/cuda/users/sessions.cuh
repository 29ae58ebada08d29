// sessions.cuh: what tests of sessions share: warps, values, tables, and a kernel that inserts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/device_arrays.hpp"
#include "cuda/fixture.hpp"
#include "holdfast/table_ref.cuh"

namespace holdfast::test {

namespace cg = cooperative_groups;

__device__ inline cg::thread_block_tile<32> this_warp() { return cg::tiled_partition<32>(cg::this_thread_block()); }

template <std::size_t kWords>
struct Words {
  std::uint64_t word[kWords];
};

inline CreateOptions options_for(std::uint32_t value_bytes, std::uint64_t capacity) {
  CreateOptions options;
  options.shape.value_bytes = value_bytes;
  options.shape.capacity = capacity;
  options.runtime.device = "cuda";
  options.overwrite = true;
  return options;
}

inline void expect_in_order(Table& table) {
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

/// Inserts keys [first, first + n), a warp each in turn.
template <class Ref, class Value>
__global__ void insert_range(Ref table, std::uint64_t first, std::uint64_t n, Value value, Status* statuses) {
  const auto warp = this_warp();
  const unsigned warps = gridDim.x * warp.meta_group_size();
  for (std::uint64_t i = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); i < n; i += warps) {
    const Status status = table.insert_or_assign(warp, first + i, value);
    if (warp.thread_rank() == 0) statuses[i] = status;
  }
}

template <class Value>
std::array<std::uint64_t, kStatuses> insert_in_session(Session& session, cudaStream_t stream, std::uint64_t first,
                                                       std::uint64_t n) {
  const OnGpu<Status> statuses(std::vector<Status>(n, Status::not_run));
  insert_range<<<4, 128, 0, stream>>>(session.ref<std::uint64_t, Value>(), first, n, Value{}, statuses.get());
  std::vector<Status> seen(n);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  statuses.copy_to(seen.data());
  std::array<std::uint64_t, kStatuses> count{};
  for (const Status status : seen) ++count[static_cast<unsigned>(status)];
  return count;
}

inline constexpr auto kInserted = static_cast<unsigned>(Status::inserted),
                      kUpdated = static_cast<unsigned>(Status::updated),
                      kNoSpace = static_cast<unsigned>(Status::no_space);

}  // namespace holdfast::test
