// bucket_cache.cu: fills the bucket cache: slots come over the link as they lie, and are split into keys and words here.
#include "machine/cuda/bucket_cache.hpp"

#include <algorithm>
#include <utility>

#include "machine/cuda/launch.cuh"
#include "machine/cuda/memory.cuh"
#include "machine/machine.hpp"

namespace holdfast::machine::cuda {

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 21;  // slots: 32 MiB, large enough for the link's full speed

__global__ void __launch_bounds__(kThreads)
    split_kernel(const ulonglong2* slots, std::uint64_t size, std::uint64_t* keys, std::uint64_t* words) {
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads()) {
    const ulonglong2 slot = slots[i];
    keys[i] = slot.x;
    words[i] = slot.y;
  }
}

__global__ void __launch_bounds__(kThreads)
    compare_kernel(const __grid_constant__ CachedSlots part, ScanReport* report) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t i = first_of_thread(); i < part.bytes / sizeof(index::Slot); i += all_threads()) {
    const std::uint64_t key = memory.load(&part.of[i].key);
    const bool same = part.keys[i] == key && part.words[i] == memory.load(&part.of[i].word);
    if (!same) atomicAdd(reinterpret_cast<unsigned long long*>(&report->wrong_copies), 1ull);
  }
}

}  // namespace

void load_slots(const index::Slot* from, std::uint64_t size, std::uint64_t* keys, std::uint64_t* words,
                cudaStream_t stream) {
  const char* const doing = "loading the bucket cache";
  const DeviceBuffer<ulonglong2> chunk(std::min(size, kChunk));
  for (std::uint64_t at = 0; at < size; at += kChunk) {
    const std::uint64_t n = std::min(kChunk, size - at);
    check(cudaMemcpyAsync(chunk.data(), from + at, n * sizeof(index::Slot), cudaMemcpyHostToDevice, stream), doing);
    split_kernel<<<blocks_for(split_kernel, n), kThreads, 0, stream>>>(chunk.data(), n, keys + at, words + at);
    check_launch(doing);
  }
  check(cudaStreamSynchronize(stream), doing);
}

BucketCache::BucketCache(std::uint64_t budget) : budget_(budget) {
  std::size_t free = 0, all = 0;
  cuda::check(cudaMemGetInfo(&free, &all), "asking for free GPU memory");
  if (budget_ == kHalfOfFree) budget_ = free / 2;
  require_free("gpu_memory", budget_, free);
}

BucketCache::Part BucketCache::take(const index::Slot* of, std::uint64_t slots, bool fresh, cudaStream_t stream) {
  Part part;
  part.of = of;
  part.slots = slots;
  part.words = DeviceBuffer<std::uint64_t>(2 * slots);
  if (fresh) {
    cuda::check(cudaMemsetAsync(part.words.data(), 0, 16 * slots, stream), "emptying the bucket cache");
  } else {
    load_slots(of, slots, part.words.data(), part.words.data() + slots, stream);
  }
  return part;
}

void BucketCache::cover(const Layout& layout, bool fresh, cudaStream_t stream) {
  const unsigned levels = layout.shape.levels();
  if (16 * (layout.total_slots() + 1) > budget_) return drop();
  Part parts[index::kMaxLevels + 1];
  try {
    for (unsigned i = 0; i <= levels; ++i) {
      const index::Slot* const of = i < levels ? layout.level[i] : layout.aside;
      const std::uint64_t slots = i < levels ? layout.buckets(i) * layout.shape.slots() : 1;
      const auto has = std::find_if(std::begin(parts_), std::end(parts_), [&](const Part& p) { return p.of == of; });
      parts[i] = has != std::end(parts_) ? std::move(*has) : take(of, slots, fresh, stream);
    }
  } catch (const DeviceError&) {
    // No room for it. A search then reads the pool; an error that lasts is met again by whoever comes next.
    return drop();
  }
  view_ = {};
  for (unsigned i = 0; i <= levels; ++i) {
    std::uint64_t* const words = parts[i].words.data();
    view_.part[i] = {parts[i].of, 16 * parts[i].slots, words, words + parts[i].slots};
  }
  view_.parts = levels + 1;
  std::move(std::begin(parts), std::end(parts), std::begin(parts_));
}

void BucketCache::clear(bool in_slot, cudaStream_t stream) {
  for (unsigned i = 0; i < view_.parts; ++i) {
    const std::uint64_t bytes = view_.part[i].bytes / (in_slot ? 2 : 1);  // the keys come first
    cuda::check(cudaMemsetAsync(view_.part[i].keys, 0, bytes, stream), "emptying the bucket cache");
  }
}

void BucketCache::drop() {
  view_ = {};
  for (Part& part : parts_) part = {};
}

void BucketCache::compare(ScanReport* report, cudaStream_t stream) const {
  for (unsigned i = 0; i < view_.parts; ++i) {
    const unsigned blocks = blocks_for(compare_kernel, view_.part[i].bytes / sizeof(index::Slot));
    compare_kernel<<<blocks, kThreads, 0, stream>>>(view_.part[i], report);
  }
  check_launch("comparing the bucket cache");
}

std::uint64_t BucketCache::bytes() const {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < view_.parts; ++i) bytes += view_.part[i].bytes;
  return bytes;
}

}  // namespace holdfast::machine::cuda
