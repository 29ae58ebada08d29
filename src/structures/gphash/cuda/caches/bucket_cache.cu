// bucket_cache.cu: space in GPU memory for copies of buckets, all of them or as many as fit, with maps to find them by. Slots come over
// the link as they lie, and are split into keys and words here.
#include "structures/gphash/cuda/caches/bucket_cache.hpp"

#include <algorithm>
#include <utility>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/machine.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;  // bytes: large enough for the link's full speed

/// Slots `first` and up, `size` of them, which lie at `slots`. A thread takes a word.
__global__ void __launch_bounds__(kThreads)
    split_kernel(const std::uint64_t* slots, unsigned size, const __grid_constant__ CachedSlots to, std::uint64_t first,
                 unsigned key_words) {
  const unsigned slot_words = gphash::slot_bytes(key_words) / 8;
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

/// True if the copy of a slot, word by word, is what the pool holds.
__device__ bool is_same(const CudaMemory& memory, const CachedSlots& copies, std::uint64_t copy,
                        const std::uint64_t* slot, unsigned key_words) {
  const std::uint64_t key = memory.load(slot);
  bool same = copies.keys[copy] == key;
  if (key_words == 1 || key != 0) same &= copies.words[copy] == memory.load(slot + 1);
  for (unsigned k = 0; key_words != 1 && key != 0 && k < key_words; ++k)
    same &= copies.wide[copy * key_words + k] == memory.load(slot + 2 + k);
  return same;
}

/// The slots of a level, or the reserved slot. Of buckets that may have copies, those that have.
__global__ void __launch_bounds__(kThreads)
    compare_kernel(const __grid_constant__ CacheView cache, unsigned which, ScanReport* report) {
  const CudaMemory memory(nullptr, nullptr);
  const CachedSlots& part = cache.part[which];
  const unsigned slot_words = cache.slot_words();
  for (std::uint64_t i = first_of_thread(); i < part.bytes / (8 * slot_words); i += all_threads()) {
    std::uint64_t copy = i;
    if (part.mapped) {
      if (cache.buckets.map == nullptr) return;
      const std::uint64_t bucket = part.first + i / cache.bucket_slots;
      const auto mapped = gphash::mapped(memory, cache.buckets.map + bucket);
      bool wrong = mapped.being_loaded();
      if (mapped.cached())
        wrong = mapped.position() >= cache.buckets.positions || cache.buckets.owners[mapped.position()] != bucket;
      if (wrong) atomicAdd(reinterpret_cast<unsigned long long*>(&report->wrong_copies), 1ull);
      if (wrong || !mapped.cached()) continue;
      copy = std::uint64_t{mapped.position()} * cache.bucket_slots + i % cache.bucket_slots;
    }
    const std::uint64_t* const slot = reinterpret_cast<const std::uint64_t*>(part.of) + i * slot_words;
    if (!is_same(memory, part, copy, slot, cache.key_words))
      atomicAdd(reinterpret_cast<unsigned long long*>(&report->wrong_copies), 1ull);
  }
}

void empty_slots(const CachedSlots& slots, unsigned key_words, cudaStream_t stream) {
  const std::uint64_t size = slots.bytes / gphash::slot_bytes(key_words);
  const auto zero = [&](std::uint64_t* array, std::uint64_t words) {
    check(cudaMemsetAsync(array, 0, 8 * words, stream), "emptying the bucket cache");
  };
  zero(slots.keys, size);
  zero(slots.words, size);
  if (key_words != 1) zero(slots.wide, size * key_words);
}

}  // namespace

void load_slots(const CachedSlots& to, unsigned key_words, cudaStream_t stream) {
  const char* const doing = "loading the bucket cache";
  const std::uint64_t each = gphash::slot_bytes(key_words);
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

BucketCache::BucketCache(const MachineOptions& options)
    : ratio_(options.cache.bucket_ratio),
      budget_(options.gpu_memory),
      maps_(options.cache.policy, options.cache.load_every, false) {
  const std::uint64_t free = free_memory();
  if (budget_ == kHalfOfFree) budget_ = free / 2;
  require_free("gpu_memory", budget_, free);
}

CachedSlots BucketCache::Part::view(unsigned key_words) const {
  std::uint64_t* const keys = words.data();
  const std::uint64_t bytes = slots * gphash::slot_bytes(key_words);
  return {of, bytes, keys, keys + slots, key_words == 1 ? nullptr : keys + 2 * slots};
}

BucketCache::Part BucketCache::take(const gphash::Slot* of, std::uint64_t slots, unsigned key_words, bool fresh,
                                    cudaStream_t stream) {
  Part part;
  part.of = of;
  part.slots = slots;
  part.words = DeviceBuffer<std::uint64_t>(slots * gphash::slot_bytes(key_words) / 8);
  fresh ? empty_slots(part.view(key_words), key_words, stream) : load_slots(part.view(key_words), key_words, stream);
  return part;
}

void BucketCache::cover(const Layout& layout, bool fresh, cudaStream_t stream) {
  if (make_resident(layout, fresh, stream)) return;
  drop();
  // What is free may lie in pieces. An error that lasts is met again by the next call.
  for (std::uint64_t space = std::min(budget_, free_memory()); space != 0 && !view_.any(); space /= 2) {
    try {
      make_maps(layout, fresh, space, stream);
    } catch (const DeviceError&) {
      drop();
    }
  }
}

/// True: every bucket has its copy.
bool BucketCache::make_resident(const Layout& layout, bool fresh, cudaStream_t stream) {
  const unsigned levels = layout.shape.levels(), key_words = layout.key_words();
  const unsigned count = levels + (layout.wide() ? 0 : 1);  // no wide key uses the reserved slot
  if (ratio_ < 1 || layout.slot_bytes() * (layout.total_slots() + 1) > budget_) return false;
  if (view_.partial()) drop();
  Part parts[gphash::kMaxLevels + 1];
  try {
    for (unsigned i = 0; i < count; ++i) {
      const gphash::Slot* const of = i < levels ? layout.level[i] : layout.reserved_slot;
      const std::uint64_t slots = i < levels ? layout.buckets(i) * layout.shape.slots() : 1;
      const auto has = std::find_if(std::begin(parts_), std::end(parts_), [&](const Part& p) { return p.of == of; });
      const bool empty = fresh && i == 0;
      parts[i] = has != std::end(parts_) ? std::move(*has) : take(of, slots, key_words, empty, stream);
    }
  } catch (const DeviceError&) {
    return false;
  }
  view_ = {};
  for (unsigned i = 0; i < count; ++i) view_.part[i] = parts[i].view(key_words);
  view_.parts = count;
  view_.set_shape(key_words, layout.shape.slots());
  std::move(std::begin(parts), std::end(parts), std::begin(parts_));
  return true;
}

/// Copies of as many buckets as `space` bytes of GPU memory allow; at first of those that come first: where a key lies is random, so
/// before anything was searched for, none is better than others. Where that is none, buckets have numbers all the same, by which
/// searches are ordered.
void BucketCache::make_maps(const Layout& layout, bool fresh, std::uint64_t space, cudaStream_t stream) {
  const unsigned levels = layout.shape.levels(), key_words = layout.key_words(), slots = layout.shape.slots();
  const std::uint64_t buckets = layout.total_slots() / slots;
  const std::uint64_t maps = CacheMaps::bytes_for(buckets), each = layout.slot_bytes() * slots;
  const std::uint64_t fit = space > maps ? (space - maps) / (each + CacheMaps::kBytesPerPosition) : 0;
  const std::uint64_t positions =
      std::min({static_cast<std::uint64_t>(ratio_ * static_cast<double>(buckets)), fit, buckets, kMostPositions});
  if (positions != 0) {
    maps_.make(buckets, positions, true, stream);
    parts_[0].slots = positions * slots;
    parts_[0].words = DeviceBuffer<std::uint64_t>(positions * each / 8);
  }
  if (!layout.wide()) parts_[1] = take(layout.reserved_slot, 1, key_words, false, stream);
  const CachedSlots copies = parts_[0].view(key_words);
  CacheView view;
  std::uint64_t first = 0;
  for (unsigned i = 0; i < levels; ++i) {
    CachedSlots& part = view.part[i] = copies;
    part.of = layout.level[i];
    part.bytes = layout.buckets(i) * each;
    part.mapped = true;
    part.first = first;
    const std::uint64_t here = positions > first ? std::min(positions - first, layout.buckets(i)) : 0;
    CachedSlots to = part;
    to.bytes = here * each;
    to.keys += first * slots;
    to.words += first * slots;
    if (layout.wide()) to.wide += first * slots * key_words;
    if (here != 0) fresh&& i == 0 ? empty_slots(to, key_words, stream) : load_slots(to, key_words, stream);
    first += layout.buckets(i);
  }
  if (!layout.wide()) view.part[levels] = parts_[1].view(key_words);
  view.parts = levels + (layout.wide() ? 0 : 1);
  view.set_shape(key_words, slots);
  view.buckets = maps_.view();
  view_ = view;
}

void BucketCache::clear(bool key_decides, cudaStream_t stream) {
  for (const Part& part : parts_) {
    if (part.slots == 0) continue;
    const std::uint64_t bytes = part.slots * (key_decides ? 8 : 16);  // the keys come first
    cuda::check(cudaMemsetAsync(part.words.data(), 0, bytes, stream), "emptying the bucket cache");
  }
}

void BucketCache::drop() {
  view_ = {};
  for (Part& part : parts_) part = {};
  maps_.drop();
}

void BucketCache::compare(ScanReport* report, cudaStream_t stream) const {
  for (unsigned i = 0; i < view_.parts; ++i) {
    const unsigned blocks = blocks_for(compare_kernel, view_.part[i].bytes / (8 * view_.slot_words()));
    compare_kernel<<<blocks, kThreads, 0, stream>>>(view_, i, report);
  }
  check_launch("comparing the bucket cache");
}

double BucketCache::ratio() const {
  if (!view_.partial()) return view_.any() ? 1 : 0;
  return maps_.parts() == 0 ? 0 : static_cast<double>(view_.buckets.positions) / static_cast<double>(maps_.parts());
}

std::uint64_t BucketCache::bytes() const {
  std::uint64_t bytes = maps_.bytes();
  for (const Part& part : parts_) bytes += 8 * part.words.size();
  return bytes;
}

}  // namespace holdfast::gphash::cuda
