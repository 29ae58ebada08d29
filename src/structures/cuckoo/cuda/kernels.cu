// kernels.cu: the protocol's functions over the rows of a batch, a thread or a tile of eight lanes per row.
#include "gpu/launch.cuh"
#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/cuda/device_memory.cuh"
#include "structures/cuckoo/cuda/kernels.hpp"
#include "structures/cuckoo/cuda/lane_tile.cuh"
#include "structures/cuckoo/search.hpp"

namespace holdfast::cuckoo::cuda {

static_assert(IndexMemory<DeviceMemory<Beside::nothing>> && IndexMemory<DeviceMemory<Beside::changes>>);
static_assert(IndexMemory<MovingMemory> && Tile<OneThread, MovingMemory> && Tile<LaneTile, MovingMemory>);

namespace {

using gpu::kThreads;

template <class T>
constexpr unsigned kLanesOf = 1;
template <>
constexpr unsigned kLanesOf<LaneTile> = LaneTile::kLanes;

/// Calls `act(row, first)` for the rows of this thread or tile; `first`: this lane reports for its tile.
template <class T, class Act>
__device__ void each_row(std::uint64_t rows, const Act& act) {
  const bool first = gpu::first_of_thread() % kLanesOf<T> == 0;
  for (std::uint64_t row = gpu::first_of_thread() / kLanesOf<T>; row < rows; row += gpu::all_threads() / kLanesOf<T>) {
    act(row, first);
  }
}

/// Adds what the threads of a block have counted. All call.
__device__ void add_of_block(unsigned long long count, unsigned long long* to) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (count != 0) atomicAdd(&sum, count);
  __syncthreads();
  if (threadIdx.x == 0 && sum != 0) atomicAdd(to, sum);
  __syncthreads();
}

template <class T, class Memory>
__global__ void __launch_bounds__(kThreads)
    search_kernel(DeviceIndex index, const Hash* hashes, Location* locations, std::uint64_t rows) {
  const T tile;
  const Memory memory{index.cells, index.groups};
  each_row<T>(rows, [&](std::uint64_t row, bool first) {
    const Location location = search(tile, memory, index.geometry, hashes[row]);
    if (first) locations[row] = location;
  });
}

__global__ void __launch_bounds__(kThreads)
    candidates_kernel(DeviceIndex index, const Hash* hashes, Candidates* lists, std::uint64_t rows) {
  const OneThread tile;
  const DeviceMemory<Beside::changes> memory{index.cells, index.groups};
  each_row<OneThread>(rows, [&](std::uint64_t row, bool) {
    lists[row].size = candidates(tile, memory, index.geometry, hashes[row], lists[row].locations);
  });
}

template <class T, class Memory>
__global__ void __launch_bounds__(kThreads) exchange_kernel(DeviceIndex index, Exchange batch, Counters* counters) {
  const T tile;
  const Memory memory{index.cells, index.groups};
  unsigned long long inserted = 0;
  each_row<T>(batch.rows, [&](std::uint64_t row, bool first) {
    const Hash hash = batch.hashes[row];
    const Location old = batch.old[row], location = batch.locations[row];
    Outcome outcome = Outcome::no_cell;
    if (old != kNone) {
      const bool done = replace(tile, memory, index.geometry, hash, old, location);
      outcome = done ? Outcome::replaced : Outcome::absent;
    } else {
      const Target target(index.geometry, hash);
      if (fill_either(tile, memory, target, entry_of(target.signature, location))) outcome = Outcome::inserted;
    }
    if (!first) return;
    inserted += outcome == Outcome::inserted ? 1 : 0;
    batch.outcomes[row] = outcome;
    if (outcome == Outcome::no_cell) batch.left[atomicAdd(&counters->left, 1ull)] = static_cast<std::uint32_t>(row);
  });
  add_of_block(inserted, &counters->entries);
}

template <class T>
__global__ void __launch_bounds__(kThreads) displace_kernel(DeviceIndex index, Exchange batch, Counters* counters) {
  const T tile;
  const MovingMemory memory{index.cells, index.groups};
  unsigned long long inserted = 0, failed = 0, moves = 0;
  each_row<T>(counters->left, [&](std::uint64_t i, bool first) {
    const std::uint32_t row = batch.left[i];
    const Inserted done = insert(tile, memory, index.geometry, batch.hashes[row], batch.locations[row]);
    if (!first) return;
    moves += done.moves;
    inserted += done.done ? 1 : 0;
    failed += done.done ? 0 : 1;
    if (done.done) batch.outcomes[row] = Outcome::inserted;
  });
  add_of_block(inserted, &counters->entries);
  add_of_block(failed, &counters->failed);
  add_of_block(moves, &counters->moves);
}

template <class T, class Memory>
__global__ void __launch_bounds__(kThreads)
    erase_kernel(DeviceIndex index, const Hash* hashes, const Location* locations, Outcome* outcomes,
                 std::uint64_t rows, Counters* counters) {
  const T tile;
  const Memory memory{index.cells, index.groups};
  unsigned long long erased = 0;
  each_row<T>(rows, [&](std::uint64_t row, bool first) {
    const bool done = erase(tile, memory, index.geometry, hashes[row], locations[row]);
    if (!first) return;
    outcomes[row] = done ? Outcome::erased : Outcome::absent;
    erased += done ? 1 : 0;
  });
  add_of_block(0 - erased, &counters->entries);
}

__global__ void __launch_bounds__(kThreads) growth_kernel(DeviceIndex from, DeviceIndex to) {
  const OneThread tile;
  const DeviceMemory<Beside::nothing> old{from.cells, from.groups}, grown{to.cells, to.groups};
  each_row<OneThread>(from.geometry.buckets() * 8, [&](std::uint64_t place, bool) {
    const auto bucket = static_cast<BucketNumber>(place / 8);
    const auto cell = static_cast<unsigned>(place % 8);
    const std::uint64_t entry = old.load_cell(bucket, cell);
    if (entry == kEmpty) return;
    const std::uint32_t signature = signature_of(entry);
    const BucketNumber there = from.geometry.grown_bucket(bucket, signature);
    grown.store(there, cell, entry);
    if (to.geometry.is_primary(there, signature)) return;
    const BucketNumber home = to.geometry.other(there, signature);
    update_group(tile, grown, home, [=](Group group) { return group.one_more(home); });
  });
}

/// Calls `act` with a tile and a memory policy as `work` says.
template <Beside kOverlapping, class Act>
void with_kinds(const Work& work, const Act& act) {
  const auto with_memory = [&](auto tile_of) {
    if (work.overlaps) return act(tile_of, DeviceMemory<kOverlapping>{});
    act(tile_of, DeviceMemory<Beside::nothing>{});
  };
  if (work.lanes == Lanes::one) return with_memory(static_cast<OneThread*>(nullptr));
  with_memory(static_cast<LaneTile*>(nullptr));
}

template <class T, class Kernel, class... Arguments>
void launch(std::uint64_t rows, cudaStream_t stream, const char* doing, Kernel* kernel, Arguments... arguments) {
  if (rows == 0) return;
  const unsigned blocks = gpu::all_blocks(rows * kLanesOf<T>);
  kernel<<<blocks, kThreads, 0, stream>>>(arguments...);
  gpu::check_launch(doing);
}

}  // namespace

void enqueue_search(const DeviceIndex& index, const Work& work, const Hash* hashes, Location* locations,
                    std::uint64_t rows, cudaStream_t stream) {
  with_kinds<Beside::changes>(work, [&]<class T, class Memory>(T*, Memory) {
    launch<T>(rows, stream, "searching the index", search_kernel<T, Memory>, index, hashes, locations, rows);
  });
}

void enqueue_candidates(const DeviceIndex& index, const Hash* hashes, Candidates* lists, std::uint64_t rows,
                        cudaStream_t stream) {
  launch<OneThread>(rows, stream, "searching the index", candidates_kernel, index, hashes, lists, rows);
}

void enqueue_exchange(const DeviceIndex& index, const Work& work, const Exchange& batch, Counters* counters,
                      cudaStream_t stream) {
  gpu::check(cudaMemsetAsync(&counters->left, 0, 2 * sizeof counters->left, stream), "beginning a batch");
  with_kinds<Beside::searches>(work, [&]<class T, class Memory>(T*, Memory) {
    launch<T>(batch.rows, stream, "changing the index", exchange_kernel<T, Memory>, index, batch, counters);
    if (batch.rows == 0) return;
    const unsigned blocks = gpu::blocks_for(displace_kernel<T>, batch.rows * kLanesOf<T>);
    displace_kernel<T><<<blocks, kThreads, 0, stream>>>(index, batch, counters);
    gpu::check_launch("changing the index");
  });
}

void enqueue_erase(const DeviceIndex& index, const Work& work, const Hash* hashes, const Location* locations,
                   Outcome* outcomes, std::uint64_t rows, Counters* counters, cudaStream_t stream) {
  with_kinds<Beside::searches>(work, [&]<class T, class Memory>(T*, Memory) {
    launch<T>(rows, stream, "changing the index", erase_kernel<T, Memory>, index, hashes, locations, outcomes, rows,
              counters);
  });
}

void enqueue_growth(const DeviceIndex& from, const DeviceIndex& to, cudaStream_t stream) {
  const std::uint64_t cells = from.geometry.buckets() * 8;
  launch<OneThread>(cells, stream, "growing the index", growth_kernel, from, to);
}

}  // namespace holdfast::cuckoo::cuda
