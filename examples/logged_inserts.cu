// logged_inserts.cu: a batch of inserts into a set-associative store, all of them or none after a crash. GPM §5.2, figure 6.
//
//   example_logged_inserts POOL
#include <cstdint>
#include <cstdio>
#include <string>

#include "holdfast/log.cuh"

namespace {

constexpr unsigned kSets = 4096, kWays = 8, kBlocks = 16, kThreads = 256;

struct Pair {
  std::uint64_t key, value;
};

/// Eight threads a pair: each looks at one way of its set, and the first that is empty, or has the key, takes it. The pairs of a batch
/// fall to sets of their own.
__global__ void insert(holdfast::TransactionRef batch, Pair* store, const Pair* pairs, unsigned count,
                       unsigned* failed) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, pair = thread / kWays, way = thread % kWays;
  if (pair >= count) return;
  Pair* const slot = store + pairs[pair].key % kSets * kWays + way;
  const std::uint64_t key = slot->key;
  const unsigned group = 0xffu << (threadIdx.x % 32 / kWays * kWays);
  const unsigned same = __ballot_sync(group, key == pairs[pair].key) & group;
  const unsigned empty = __ballot_sync(group, key == 0) & group;
  const unsigned takers = same != 0 ? same : empty;
  if (takers == 0) {
    atomicAdd(failed, 1u);
  } else if (threadIdx.x % 32 == static_cast<unsigned>(__ffs(static_cast<int>(takers)) - 1)) {
    if (batch.update(slot, pairs[pair]) != holdfast::LogStatus::ok) atomicAdd(failed, 1u);
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string path = count > 1 ? words[1] : "/dev/shm/logged_inserts.hold";
  constexpr unsigned kPairs = kBlocks * kThreads / kWays;
  Pair* pairs = nullptr;
  unsigned* failed = nullptr;
  if (cudaMallocManaged(&pairs, kPairs * sizeof *pairs) != cudaSuccess ||
      cudaMallocManaged(&failed, sizeof *failed) != cudaSuccess) {
    std::puts("no GPU: nothing to show");
    return 0;
  }
  *failed = 0;

  holdfast::Pool pool = holdfast::Pool::create(path, true);
  holdfast::Region store = holdfast::Region::create(pool, "store", kSets * kWays * sizeof(Pair), {.gpu = true});
  holdfast::Log log = holdfast::Log::create(
      pool, "undo", {.entry_bytes = sizeof(Pair) + 8, .blocks = kBlocks, .threads = kThreads, .gpu = true});
  holdfast::Transaction::recover(log, store);  // nothing to undo: the store is new
  for (unsigned run = 0; run < 2; ++run) {
    for (unsigned i = 0; i < kPairs; ++i) pairs[i] = {i + 1, (run + 1) * 1000 + i};
    holdfast::Transaction batch(log, store, holdfast::Domain::process, holdfast::Writer::gpu);
    const holdfast::TransactionHandle handle = batch.handle();
    insert<<<kBlocks, kThreads>>>(holdfast::TransactionRef(handle), reinterpret_cast<Pair*>(handle.region), pairs,
                                  kPairs, failed);
    if (cudaDeviceSynchronize() != cudaSuccess || *failed != 0) return 1;
    if (run == 0) batch.commit();  // the second is given up, as by a crash
  }
  unsigned right = 0;
  for (const Pair& pair : store.as<Pair>()) right += pair.key != 0 && pair.value == 1000 + pair.key - 1;
  std::printf("%u of %u pairs are those of the batch that was committed\n", right, kPairs);
  return right == kPairs ? 0 : 1;
}
