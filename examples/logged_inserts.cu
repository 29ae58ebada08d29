// logged_inserts.cu: batches of inserts into a set-associative store; after a crash each is there as a whole, or not at all. GPM §5.2,
// figure 6.
//
//   example_logged_inserts POOL [BATCHES]      goes on where it was
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "holdfast/log.cuh"

namespace {

constexpr unsigned kSets = 4096, kWays = 8, kBlocks = 16, kThreads = 256;
constexpr unsigned kPairs = kBlocks * kThreads / kWays;

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

bool has(const holdfast::Pool& pool, const char* name) {
  for (const holdfast::ObjectInfo& object : pool.objects()) {
    if (object.name == name) return true;
  }
  return false;
}

/// Values are the number of their batch. That of all pairs, 0 where there is none; or an end: some are of another.
std::uint64_t batch_in(const holdfast::Region& store) {
  std::uint64_t batch = 0, found = 0;
  for (const Pair& pair : store.as<Pair>()) {
    if (pair.key == 0) continue;
    if (found++ == 0) batch = pair.value;
    if (pair.value != batch) {
      std::printf("key %llu is of batch %llu, and another of %llu\n", static_cast<unsigned long long>(pair.key),
                  static_cast<unsigned long long>(pair.value), static_cast<unsigned long long>(batch));
      std::exit(1);
    }
  }
  if (found != 0 && found != kPairs) std::exit(1);
  return batch;
}

}  // namespace

int main(int count, char** words) {
  const std::string path = count > 1 ? words[1] : "/dev/shm/logged_inserts.hold";
  const std::uint64_t last = count > 2 ? std::strtoull(words[2], nullptr, 10) : 20;
  Pair* pairs = nullptr;
  unsigned* failed = nullptr;
  if (cudaMallocManaged(&pairs, kPairs * sizeof *pairs) != cudaSuccess ||
      cudaMallocManaged(&failed, sizeof *failed) != cudaSuccess) {
    std::puts("no GPU: nothing to show");
    return 0;
  }
  *failed = 0;

  holdfast::Pool pool = std::filesystem::exists(path) ? holdfast::Pool::open(path) : holdfast::Pool::create(path);
  holdfast::Region store = has(pool, "store")
                               ? holdfast::Region::open(pool, "store", {.gpu = true})
                               : holdfast::Region::create(pool, "store", kSets * kWays * sizeof(Pair), {.gpu = true});
  holdfast::Log log =
      has(pool, "undo")
          ? holdfast::Log::open(pool, "undo", {.gpu = true})
          : holdfast::Log::create(
                pool, "undo", {.entry_bytes = sizeof(Pair) + 8, .blocks = kBlocks, .threads = kThreads, .gpu = true});
  holdfast::Transaction::recover(log, store);  // undoes the batch in which it was killed
  std::uint64_t done = batch_in(store);
  std::printf("begins at batch %llu\n", static_cast<unsigned long long>(done));
  for (std::uint64_t number = done + 1; number <= last + 1; ++number) {
    for (unsigned i = 0; i < kPairs; ++i) pairs[i] = {i + 1, number};
    holdfast::Transaction batch(log, store, holdfast::Domain::process, holdfast::Writer::gpu);
    const holdfast::TransactionHandle handle = batch.handle();
    insert<<<kBlocks, kThreads>>>(holdfast::TransactionRef(handle), reinterpret_cast<Pair*>(handle.region), pairs,
                                  kPairs, failed);
    if (cudaDeviceSynchronize() != cudaSuccess || *failed != 0) return 1;
    if (number <= last) batch.commit();  // one more is given up, as by a crash
  }
  done = batch_in(store);
  std::printf("after batch %llu: all %u pairs are of it\n", static_cast<unsigned long long>(done), kPairs);
  return done >= last ? 0 : 1;
}
