// key_order.cu: sorts rows by the first half of their keys' hashes, for half the passes. Of millions of rows a few thousand then stand
// beside another key's with the same prefix: keys are compared, whole, wherever neighbours in the order have one prefix.
#include "gpu/order/key_order.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "core/bits.hpp"
#include "core/hash.hpp"
#include "gpu/launch.cuh"

namespace holdfast::gpu {

namespace {

constexpr int kPrefixBits = 32;

/// The keys of a batch, by their rows.
struct Keys : BatchKeys {
  __device__ std::uint32_t size_of(std::uint64_t row) const {
    return static_cast<std::uint32_t>(offsets[row + 1] - offsets[row]);
  }
  __device__ const std::byte* at(std::uint64_t row) const { return bytes + std::uint64_t{8} * words * row; }
  __device__ std::uint64_t hash(std::uint64_t row, std::uint64_t seed) const {
    if (offsets != nullptr) {
      const std::byte* const key = bytes + offsets[row];
      const std::uint32_t size = size_of(row);
      return hash_bytes(size, seed, [&](unsigned i) { return load_user(key + 8 * i, size - 8 * i); });
    }
    const auto word = [key = at(row)](unsigned i) { return load_user(key + 8 * i, 8); };
    return words == 1 ? hash_key(word(0), seed) : hash_words(words, seed, word);
  }
  __device__ bool same(std::uint64_t row, std::uint64_t other) const {
    if (offsets != nullptr) {
      const std::uint32_t size = size_of(row);
      const std::byte *const one = bytes + offsets[row], *const two = bytes + offsets[other];
      bool equal = size == size_of(other);
      for (std::uint32_t i = 0; equal && i < size; i += 8)
        equal = load_user(one + i, size - i) == load_user(two + i, size - i);
      return equal;
    }
    const std::byte *const a = at(row), *const b = at(other);
    bool same = true;
    for (unsigned i = 0; same && i < words; ++i) same = load_user(a + 8 * i, 8) == load_user(b + 8 * i, 8);
    return same;
  }
};

/// The prefixes of the hashes of the `*picked` rows that `rows` names; without `picked`, of all, which it then names.
__global__ void __launch_bounds__(kThreads)
    hash_kernel(Keys keys, std::uint64_t size, const std::uint64_t* picked, std::uint64_t seed, std::uint32_t* prefixes,
                std::uint32_t* rows) {
  const std::uint64_t end = picked ? *picked : size;
  for (std::uint64_t i = first_of_thread(); i < end; i += all_threads()) {
    const std::uint64_t row = picked ? rows[i] : i;
    if (!picked) rows[i] = static_cast<std::uint32_t>(i);
    prefixes[i] = static_cast<std::uint32_t>(keys.hash(row, seed) >> (64 - kPrefixBits));
  }
}

/// Rows in the order of their prefixes, and where the runs of one key begin.
struct Runs {
  Keys keys;
  const std::uint32_t* prefixes;
  std::uint32_t* rows;
  std::uint32_t* spare;   ///< (n,) zero at first; then 1 where a prefix begins whose keys are mixed
  std::uint32_t* begins;  ///< (n,) the place itself where a key begins, else 0
  std::uint64_t size;
  const std::uint64_t* ordered;  ///< null: `size`

  __device__ std::uint64_t end() const { return ordered ? *ordered : size; }
  __device__ bool begins_prefix(std::uint64_t at) const { return at == 0 || prefixes[at - 1] != prefixes[at]; }
  /// The first place from `from` to `to` whose prefix is at least, or is above, one.
  __device__ std::uint64_t place_of(std::uint32_t prefix, bool above, std::uint64_t from, std::uint64_t to) const {
    while (from < to) {
      const std::uint64_t middle = from + (to - from) / 2;
      const bool before = above ? prefixes[middle] <= prefix : prefixes[middle] < prefix;
      (before ? from : to) = before ? middle + 1 : middle;
    }
    return from;
  }
};

__global__ void __launch_bounds__(kThreads) begin_kernel(const __grid_constant__ Runs runs) {
  const std::uint64_t end = runs.end();
  for (std::uint64_t at = first_of_thread(); at < runs.size; at += all_threads()) {
    bool begins = at < end && runs.begins_prefix(at);
    if (at < end && !begins && !runs.keys.same(runs.rows[at - 1], runs.rows[at])) {
      begins = true;
      runs.spare[runs.place_of(runs.prefixes[at], false, 0, at)] = 1;
    }
    runs.begins[at] = begins ? static_cast<std::uint32_t>(at) : 0;
  }
}

/// Puts the rows from `from` to `end`, all of one prefix, together by key, each key's in their order. A warp calls together.
__device__ void group_rows(const Warp& warp, const Runs& runs, std::uint64_t from, std::uint64_t end) {
  const std::uint64_t first = from;
  const LaneMask before = lanes(warp.lane());
  while (from < end) {
    const std::uint32_t leader = runs.rows[from];
    std::uint64_t taken = from, left = first;
    for (std::uint64_t base = from; base < end; base += kWarp) {
      const std::uint64_t at = base + warp.lane();
      const std::uint32_t row = at < end ? runs.rows[at] : 0;
      const bool same = at < end && runs.keys.same(leader, row);
      const LaneMask those = warp.ballot(same), others = warp.ballot(at < end && !same);
      if (same) {
        const std::uint64_t to = taken + count_bits(those & before);
        runs.rows[to] = row;
        runs.begins[to] = to == from ? static_cast<std::uint32_t>(from) : 0;
      } else if (at < end) {
        runs.spare[left + count_bits(others & before)] = row;
      }
      taken += count_bits(those);
      left += count_bits(others);
      __syncwarp();
    }
    for (std::uint64_t at = taken + warp.lane(); at < end; at += kWarp)
      runs.rows[at] = runs.spare[first + (at - taken)];
    __syncwarp();
    from = taken;
  }
}

/// Sorts out the prefixes whose keys are mixed, a warp each. They are small, unless a user knows the pool's seed.
__global__ void __launch_bounds__(kThreads) group_kernel(const __grid_constant__ Runs runs) {
  const Warp warp;
  const std::uint64_t end = runs.end();
  for (std::uint64_t base = first_of_warp() * kWarp; base < end; base += all_warps() * kWarp) {
    const std::uint64_t at = base + warp.lane();
    // What `spare` has inside of a prefix is rows, which its own warp puts there.
    LaneMask mixed = warp.ballot(at < end && runs.begins_prefix(at) && runs.spare[at] != 0);
    for (; mixed != 0; mixed &= mixed - 1) {
      const std::uint64_t first = base + lowest_bit(mixed);
      group_rows(warp, runs, first, runs.place_of(runs.prefixes[first], true, first, end));
    }
  }
}

struct Later {
  __host__ __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a > b ? a : b; }
};

/// `scratch` null: only says in `bytes` how much it takes.
void spread_begins(std::uint32_t* begins, std::uint64_t size, void* scratch, std::size_t& bytes, cudaStream_t stream) {
  check(cub::DeviceScan::InclusiveScan(scratch, bytes, begins, begins, Later{}, size, stream), "ordering a batch");
}

struct Unmasked {
  const std::uint8_t* mask;
  __host__ __device__ bool operator()(std::uint32_t row) const { return mask[row] != 0; }
};

cub::DoubleBuffer<std::uint32_t> prefixes_of(const KeyOrderWorkspace& workspace) {
  return {workspace.prefixes[0], workspace.prefixes[1]};
}
cub::DoubleBuffer<std::uint32_t> rows_of(const KeyOrderWorkspace& workspace) {
  return {workspace.rows[0], workspace.rows[1]};
}

}  // namespace

std::size_t key_order_scratch_bytes(std::uint64_t rows) {
  std::size_t sort = 0, select = 0;
  KeyOrderWorkspace none{};
  auto prefixes = prefixes_of(none);
  auto order = rows_of(none);
  check(cub::DeviceRadixSort::SortPairs(nullptr, sort, prefixes, order, rows, 0, kPrefixBits),
        "planning the order of a batch");
  check(
      cub::DeviceSelect::If(nullptr, select, static_cast<std::uint32_t*>(nullptr), static_cast<std::uint32_t*>(nullptr),
                            static_cast<std::uint64_t*>(nullptr), rows, Unmasked{}),
      "planning the order of a batch");
  std::size_t spread = 0;
  spread_begins(nullptr, rows, nullptr, spread, nullptr);
  return std::max({sort, select, spread});
}

namespace {

/// The place where the run of each row's key begins.
void separate_keys(const Runs& runs, const KeyOrderWorkspace& workspace, cudaStream_t stream) {
  const char* const doing = "ordering a batch";
  check(cudaMemsetAsync(runs.spare, 0, runs.size * sizeof(std::uint32_t), stream), doing);
  begin_kernel<<<blocks_for(begin_kernel, runs.size), kThreads, 0, stream>>>(runs);
  group_kernel<<<blocks_for(group_kernel, runs.size), kThreads, 0, stream>>>(runs);
  check_launch(doing);
  std::size_t bytes = workspace.scratch_bytes;
  spread_begins(runs.begins, runs.size, workspace.scratch, bytes, stream);
}

}  // namespace

KeyOrder order_keys(const BatchKeys& batch, std::uint64_t size, const std::uint8_t* mask, std::uint64_t seed,
                    const KeyOrderWorkspace& workspace, cudaStream_t stream) {
  const char* const doing = "ordering a batch";
  const Keys keys{batch};
  const unsigned blocks = blocks_for(hash_kernel, size);
  hash_kernel<<<blocks, kThreads, 0, stream>>>(keys, size, nullptr, seed, workspace.prefixes[0], workspace.rows[0]);
  check_launch(doing);
  auto prefixes = prefixes_of(workspace);
  auto rows = rows_of(workspace);
  std::size_t bytes = workspace.scratch_bytes;
  check(cub::DeviceRadixSort::SortPairs(workspace.scratch, bytes, prefixes, rows, size, 0, kPrefixBits, stream), doing);
  std::uint64_t* ordered = nullptr;
  if (mask != nullptr) {
    ordered = workspace.ordered;
    check(cub::DeviceSelect::If(workspace.scratch, bytes = workspace.scratch_bytes, rows.Current(), rows.Alternate(),
                                ordered, size, Unmasked{mask}, stream),
          doing);
    hash_kernel<<<blocks, kThreads, 0, stream>>>(keys, size, ordered, seed, prefixes.Alternate(), rows.Alternate());
    check_launch(doing);
    prefixes.selector ^= 1;
    rows.selector ^= 1;
  }
  const Runs runs{keys, prefixes.Current(), rows.Current(), rows.Alternate(), prefixes.Alternate(), size, ordered};
  separate_keys(runs, workspace, stream);
  return {runs.rows, runs.begins, ordered};
}

}  // namespace holdfast::gpu
