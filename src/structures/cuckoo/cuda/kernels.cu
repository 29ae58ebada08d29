// kernels.cu: the protocol's functions over the rows of a batch: a thread per row, which looks at buckets together with others (warp_tile.cuh).
#include "gpu/launch.cuh"
#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/cuda/kernels.hpp"
#include "structures/cuckoo/cuda/warp_tile.cuh"
#include "structures/cuckoo/search.hpp"

namespace holdfast::cuckoo::cuda {

static_assert(IndexMemory<DeviceMemory<Beside::readers>> && IndexMemory<DeviceMemory<Beside::changes>>);
static_assert(Tile<WarpTile, DeviceMemory<Beside::changes>> && Tile<WarpTile, DeviceMemory<Beside::moves>>);

namespace {

using gpu::kThreads;

/// The sum over the threads of a block, in its first thread. All call.
__device__ unsigned sum_of_block(unsigned count) {
  __shared__ unsigned sums[gpu::kWarpsPerBlock];
  count = __reduce_add_sync(gpu::kAllLanes, count);
  __syncthreads();
  if (threadIdx.x % gpu::kWarp == 0) sums[threadIdx.x / gpu::kWarp] = count;
  __syncthreads();
  unsigned sum = 0;
  if (threadIdx.x == 0) {
    for (const unsigned of_warp : sums) sum += of_warp;
  }
  return sum;
}
/// Adds what the threads of a block have counted. All call.
__device__ void add_of_block(unsigned count, unsigned long long* to) {
  const unsigned sum = sum_of_block(count);
  if (sum != 0) atomicAdd(to, static_cast<unsigned long long>(sum));
}

/// Adds `value` to a list, if `adds`, by one atomic operation per block. All threads of the block call.
__device__ void append(std::uint32_t* list, unsigned long long* size, bool adds, std::uint32_t value) {
  __shared__ unsigned sums[gpu::kWarpsPerBlock];
  __shared__ unsigned long long begin;
  const unsigned lanes = __ballot_sync(gpu::kAllLanes, adds), warp = threadIdx.x / gpu::kWarp;
  if (threadIdx.x % gpu::kWarp == 0) sums[warp] = count_bits(lanes);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned& of_warp : sums) {
      const unsigned count = of_warp;
      of_warp = sum;
      sum += count;
    }
    if (sum != 0) begin = atomicAdd(size, static_cast<unsigned long long>(sum));
  }
  __syncthreads();
  if (adds) list[begin + sums[warp] + count_bits(lanes & holdfast::lanes(threadIdx.x % gpu::kWarp))] = value;
}

template <class Memory>
__global__ void __launch_bounds__(kThreads, 6)
    search_kernel(DeviceIndex index, const Hash* hashes, Location* locations, std::uint64_t rows) {
  const WarpTile tile;
  const Memory memory{index.cells, index.groups};
  const std::uint64_t row = gpu::first_of_thread();
  const bool wanted = row < rows;
  const Target target(index.geometry, wanted ? hashes[row] : 0);
  const Location location = search(tile, memory, target, wanted);
  if (wanted) locations[row] = location;
}

__global__ void __launch_bounds__(kThreads)
    candidates_kernel(DeviceIndex index, const Hash* hashes, Candidates* lists, std::uint64_t rows) {
  const DeviceMemory<Beside::changes> memory{index.cells, index.groups};
  const std::uint64_t row = gpu::first_of_thread();
  if (row >= rows) return;
  lists[row].size = candidates(memory, Target(index.geometry, hashes[row]), lists[row].locations);
}

/// Replaces, and inserts where a bucket has an empty cell. Lists the rows whose buckets are full.
template <class Memory>
__global__ void __launch_bounds__(kThreads, 6) exchange_kernel(DeviceIndex index, Exchange batch, Counters* counters) {
  const WarpTile tile;
  const Memory memory{index.cells, index.groups};
  const std::uint64_t row = gpu::first_of_thread();
  const bool wanted = row < batch.rows;
  const Target target(index.geometry, wanted ? batch.hashes[row] : 0);
  const Location old = wanted && batch.old != nullptr ? batch.old[row] : kNone;
  const Location location = wanted ? batch.locations[row] : 0;
  const bool replaces = old != kNone, inserts = wanted && !replaces;
  const bool inserted = fill_either(tile, memory, target, entry_of(target.signature, location), inserts);
  bool replaced = false;
  if (tile.any(replaces)) replaced = replace(tile, memory, target, old, location, replaces);
  if (wanted) {
    const Outcome failed = replaces ? Outcome::absent : Outcome::no_cell;
    batch.outcomes[row] = inserted ? Outcome::inserted : replaced ? Outcome::replaced : failed;
  }
  add_of_block(inserted ? 1 : 0, &counters->entries);
  append(batch.left, &counters->left, inserts && !inserted, static_cast<std::uint32_t>(row));
}

template <class Memory>
__global__ void __launch_bounds__(kThreads, 4) displace_kernel(DeviceIndex index, Exchange batch, Counters* counters) {
  const WarpTile tile;
  const Memory memory{index.cells, index.groups};
  unsigned inserted = 0, failed = 0, moves = 0;
  const std::uint64_t rows = counters->left;
  for (std::uint64_t i = gpu::first_of_thread(); tile.any(i < rows); i += gpu::all_threads()) {
    const bool wanted = i < rows;
    const std::uint32_t row = wanted ? batch.left[i] : 0;
    const Target target(index.geometry, batch.hashes[row]);
    const std::uint64_t entry = entry_of(target.signature, batch.locations[row]);
    const Inserted done = insert_by_moves(tile, memory, index.geometry, target, entry, wanted);
    moves += done.moves;
    inserted += done.done ? 1 : 0;
    failed += wanted && !done.done ? 1 : 0;
    if (done.done) batch.outcomes[row] = Outcome::inserted;
  }
  add_of_block(inserted, &counters->entries);
  add_of_block(failed, &counters->failed);
  add_of_block(moves, &counters->moves);
}

template <class Memory>
__global__ void __launch_bounds__(kThreads, 6)
    erase_kernel(DeviceIndex index, const Hash* hashes, const Location* locations, Outcome* outcomes,
                 std::uint64_t rows, Counters* counters) {
  const WarpTile tile;
  const Memory memory{index.cells, index.groups};
  const std::uint64_t row = gpu::first_of_thread();
  const bool wanted = row < rows;
  const Target target(index.geometry, wanted ? hashes[row] : 0);
  const bool done = erase(tile, memory, target, wanted ? locations[row] : 0, wanted);
  if (wanted) outcomes[row] = done ? Outcome::erased : Outcome::absent;
  const unsigned erased = sum_of_block(done ? 1 : 0);
  if (erased != 0) atomicAdd(&counters->entries, 0 - static_cast<unsigned long long>(erased));
}

__global__ void __launch_bounds__(kThreads)
    repeats_kernel(DeviceIndex index, const Hash* hashes, Outcome* outcomes, std::uint64_t rows) {
  const DeviceMemory<Beside::readers> memory{index.cells, index.groups};
  const std::uint64_t row = gpu::first_of_thread();
  if (row >= rows) return;
  Location all[kMostCandidates];
  if (candidates(memory, Target(index.geometry, hashes[row]), all) > 1) outcomes[row] = Outcome::replaced;
}

__global__ void __launch_bounds__(kThreads) growth_kernel(DeviceIndex from, DeviceIndex to) {
  const OneThread tile;
  const DeviceMemory<Beside::nothing> old{from.cells, from.groups}, grown{to.cells, to.groups};
  const std::uint64_t place = gpu::first_of_thread();
  if (place >= from.geometry.buckets() * 8) return;
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
}

/// Calls `act` with a null pointer to the memory policy of a kernel that runs beside `kind`, or beside nothing.
template <Beside kOverlapping, Beside kAlone, class Act>
void with_memory(bool overlaps, const Act& act) {
  if (overlaps) return act(static_cast<DeviceMemory<kOverlapping>*>(nullptr));
  act(static_cast<DeviceMemory<kAlone>*>(nullptr));
}

/// A thread for each row.
template <class Kernel, class... Arguments>
void launch(std::uint64_t rows, cudaStream_t stream, const char* doing, Kernel* kernel, Arguments... arguments) {
  if (rows == 0) return;
  kernel<<<gpu::all_blocks(rows), kThreads, 0, stream>>>(arguments...);
  gpu::check_launch(doing);
}

}  // namespace

void enqueue_search(const DeviceIndex& index, bool overlaps, const Hash* hashes, Location* locations,
                    std::uint64_t rows, cudaStream_t stream) {
  with_memory<Beside::changes, Beside::readers>(overlaps, [&]<class Memory>(Memory*) {
    launch(rows, stream, "searching the index", search_kernel<Memory>, index, hashes, locations, rows);
  });
}

void enqueue_candidates(const DeviceIndex& index, const Hash* hashes, Candidates* lists, std::uint64_t rows,
                        cudaStream_t stream) {
  launch(rows, stream, "searching the index", candidates_kernel, index, hashes, lists, rows);
}

void enqueue_exchange(const DeviceIndex& index, bool overlaps, const Exchange& batch, Counters* counters,
                      cudaStream_t stream) {
  constexpr const char* kDoing = "changing the index";
  if (batch.rows == 0) return;
  if (batch.inserts) gpu::check(cudaMemsetAsync(&counters->left, 0, sizeof counters->left, stream), kDoing);
  with_memory<Beside::searches, Beside::nothing>(overlaps, [&]<class Memory>(Memory*) {
    launch(batch.rows, stream, kDoing, exchange_kernel<Memory>, index, batch, counters);
  });
  if (!batch.inserts) return;
  with_memory<Beside::searches, Beside::moves>(overlaps, [&]<class Memory>(Memory*) {
    auto* const kernel = displace_kernel<Memory>;
    kernel<<<gpu::blocks_for(kernel, batch.rows), kThreads, 0, stream>>>(index, batch, counters);
    gpu::check_launch(kDoing);
  });
}

void enqueue_erase(const DeviceIndex& index, bool overlaps, const Hash* hashes, const Location* locations,
                   Outcome* outcomes, std::uint64_t rows, Counters* counters, cudaStream_t stream) {
  with_memory<Beside::searches, Beside::nothing>(overlaps, [&]<class Memory>(Memory*) {
    launch(rows, stream, "changing the index", erase_kernel<Memory>, index, hashes, locations, outcomes, rows,
           counters);
  });
}

void enqueue_repeats(const DeviceIndex& index, const Hash* hashes, Outcome* outcomes, std::uint64_t rows,
                     cudaStream_t stream) {
  launch(rows, stream, "building the index", repeats_kernel, index, hashes, outcomes, rows);
}

void enqueue_growth(const DeviceIndex& from, const DeviceIndex& to, cudaStream_t stream) {
  const std::uint64_t cells = from.geometry.buckets() * 8;
  launch(cells, stream, "growing the index", growth_kernel, from, to);
}

}  // namespace holdfast::cuckoo::cuda
