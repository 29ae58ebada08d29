// bucket_cache.cu: fills the bucket cache: slots come over the link as they lie, and are split into keys and words here.
#include "machine/cuda/bucket_cache.hpp"

#include <algorithm>
#include <utility>

#include "machine/cuda/launch.cuh"
#include "machine/cuda/memory.cuh"
#include "machine/machine.hpp"

namespace holdfast::machine::cuda {

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;  // bytes: large enough for the link's full speed

/// Slots `first` and up, `size` of them, which lie at `slots`. A thread takes a word.
__global__ void __launch_bounds__(kThreads)
    split_kernel(const std::uint64_t* slots, unsigned size, const __grid_constant__ CachedSlots to, std::uint64_t first,
                 unsigned key_words) {
  const unsigned slot_words = index::slot_bytes(key_words) / 8;
  for (auto i = static_cast<unsigned>(first_of_thread()); i < size * slot_words;
       i += static_cast<unsigned>(all_threads())) {
    const std::uint64_t slot = first + i / slot_words;
    const unsigned at = i % slot_words;
    std::uint64_t* const copy = at == 0   ? to.keys + slot
                                : at == 1 ? to.words + slot
                                          : to.wide + slot * key_words + (at - 2);
    *copy = slots[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    compare_kernel(const __grid_constant__ CachedSlots part, unsigned key_words, ScanReport* report) {
  const CudaMemory memory(nullptr, nullptr);
  const unsigned slot_words = index::slot_bytes(key_words) / 8;
  for (std::uint64_t i = first_of_thread(); i < part.bytes / (8 * slot_words); i += all_threads()) {
    const std::uint64_t* const slot = reinterpret_cast<const std::uint64_t*>(part.of) + i * slot_words;
    const std::uint64_t key = memory.load(slot);
    bool same = part.keys[i] == key;
    if (key_words == 1 || key != 0) same &= part.words[i] == memory.load(slot + 1);
    for (unsigned k = 0; key_words != 1 && key != 0 && k < key_words; ++k)
      same &= part.wide[i * key_words + k] == memory.load(slot + 2 + k);
    if (!same) atomicAdd(reinterpret_cast<unsigned long long*>(&report->wrong_copies), 1ull);
  }
}

}  // namespace

void load_slots(const CachedSlots& to, unsigned key_words, cudaStream_t stream) {
  const char* const doing = "loading the bucket cache";
  const std::uint64_t each = index::slot_bytes(key_words);
  const std::uint64_t size = to.bytes / each, most = kChunk / each;
  const DeviceBuffer<std::uint64_t> chunk(std::min(size, most) * each / 8);
  for (std::uint64_t at = 0; at < size; at += most) {
    const std::uint64_t n = std::min(most, size - at);
    const auto* const from = reinterpret_cast<const std::byte*>(to.of) + at * each;
    check(cudaMemcpyAsync(chunk.data(), from, n * each, cudaMemcpyHostToDevice, stream), doing);
    split_kernel<<<blocks_for(split_kernel, n * each / 8), kThreads, 0, stream>>>(
        chunk.data(), static_cast<unsigned>(n), to, at, key_words);
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

CachedSlots BucketCache::Part::view(unsigned key_words) const {
  std::uint64_t* const keys = words.data();
  const std::uint64_t bytes = slots * index::slot_bytes(key_words);
  return {of, bytes, keys, keys + slots, key_words == 1 ? nullptr : keys + 2 * slots};
}

BucketCache::Part BucketCache::take(const index::Slot* of, std::uint64_t slots, unsigned key_words, bool fresh,
                                    cudaStream_t stream) {
  Part part;
  part.of = of;
  part.slots = slots;
  part.words = DeviceBuffer<std::uint64_t>(slots * index::slot_bytes(key_words) / 8);
  if (fresh) {
    const std::size_t bytes = slots * index::slot_bytes(key_words);
    cuda::check(cudaMemsetAsync(part.words.data(), 0, bytes, stream), "emptying the bucket cache");
  } else {
    load_slots(part.view(key_words), key_words, stream);
  }
  return part;
}

void BucketCache::cover(const Layout& layout, bool fresh, cudaStream_t stream) {
  const unsigned levels = layout.shape.levels(), key_words = layout.key_words();
  const unsigned count = levels + (layout.wide() ? 0 : 1);  // no wide key lies aside
  if (layout.slot_bytes() * (layout.total_slots() + 1) > budget_) return drop();
  Part parts[index::kMaxLevels + 1];
  try {
    for (unsigned i = 0; i < count; ++i) {
      const index::Slot* const of = i < levels ? layout.level[i] : layout.aside;
      const std::uint64_t slots = i < levels ? layout.buckets(i) * layout.shape.slots() : 1;
      const auto has = std::find_if(std::begin(parts_), std::end(parts_), [&](const Part& p) { return p.of == of; });
      parts[i] = has != std::end(parts_) ? std::move(*has) : take(of, slots, key_words, fresh, stream);
    }
  } catch (const DeviceError&) {
    // No room for it. A search then reads the pool; an error that lasts is met again by whoever comes next.
    return drop();
  }
  view_ = {};
  for (unsigned i = 0; i < count; ++i) view_.part[i] = parts[i].view(key_words);
  view_.parts = count;
  view_.set_key_words(key_words);
  std::move(std::begin(parts), std::end(parts), std::begin(parts_));
}

void BucketCache::clear(bool key_decides, cudaStream_t stream) {
  for (unsigned i = 0; i < view_.parts; ++i) {
    const std::uint64_t slots = view_.part[i].bytes / (8 * view_.slot_words());
    const std::uint64_t bytes = slots * (key_decides ? 8 : 16);  // the keys come first
    cuda::check(cudaMemsetAsync(view_.part[i].keys, 0, bytes, stream), "emptying the bucket cache");
  }
}

void BucketCache::drop() {
  view_ = {};
  for (Part& part : parts_) part = {};
}

void BucketCache::compare(ScanReport* report, cudaStream_t stream) const {
  for (unsigned i = 0; i < view_.parts; ++i) {
    const unsigned blocks = blocks_for(compare_kernel, view_.part[i].bytes / (8 * view_.slot_words()));
    compare_kernel<<<blocks, kThreads, 0, stream>>>(view_.part[i], view_.key_words, report);
  }
  check_launch("comparing the bucket cache");
}

std::uint64_t BucketCache::bytes() const {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < view_.parts; ++i) bytes += view_.part[i].bytes;
  return bytes;
}

}  // namespace holdfast::machine::cuda
