// pair_search.cu: the phases of a search of variable-length pairs that know where they lie, and ask nothing of the table
// (pair_search.cuh).
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <bit>

#include "core/both.hpp"
#include "gpu/launch.cuh"
#include "gpu/order/word_range.cuh"
#include "structures/gphash/cuda/kernels/pair_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/row_keys.cuh"

namespace holdfast::gphash::cuda {

namespace {

/// Cells are at least 32 bytes apart, so what a slot's word says of them in units of 8 has two bits that order does not need.
constexpr int kFirstBit = 10;

/// `scratch` null: only says in `bytes` how much it takes.
void sort_pairs(PairSearchWorkspace& workspace, std::uint64_t size, std::uint64_t heap_bytes, void* scratch,
                std::size_t& bytes, cudaStream_t stream) {
  cub::DoubleBuffer<std::uint64_t> words(workspace.words[0], workspace.words[1]);
  cub::DoubleBuffer<std::uint32_t> rows(workspace.rows[0], workspace.rows[1]);
  const int end = std::clamp(kFirstBit + static_cast<int>(std::bit_width((heap_bytes - 1) / 32)), kFirstBit + 1, 64);
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, words, rows, static_cast<int>(size), kFirstBit, end, stream),
        "ordering a search");
  if (words.Current() != workspace.words[0]) std::swap(workspace.words[0], workspace.words[1]);
  if (rows.Current() != workspace.rows[0]) std::swap(workspace.rows[0], workspace.rows[1]);
}

/// True if the rows behind a place want the same pair: its last place reads it for all.
HOLDFAST_BOTH inline bool is_repeated(const std::uint64_t* words, std::uint64_t place, std::uint64_t size) {
  return place + 1 < size && words[place + 1] == words[place];
}

/// The most that a pair with such a key can hold of a value.
HOLDFAST_BOTH inline std::uint32_t value_space(std::uint64_t word, std::uint32_t key_bytes) {
  const std::uint32_t bytes = heap::CellWord{word}.pair_bytes(), before = gphash::pair_bytes(key_bytes, 0);
  return bytes > before ? bytes - before : 0;
}
/// As many whole words, one at least: no two values begin at one place.
HOLDFAST_BOTH inline std::uint64_t space_of(std::uint64_t word, std::uint32_t key_bytes) {
  const std::uint32_t bytes = value_space(word, key_bytes);
  return bytes == 0 ? 8 : (bytes + 7) / 8 * 8;
}

/// The space of a place's value; none beyond the last place, nor where a later one has it.
struct SpaceAt {
  const std::uint64_t* words;
  const std::uint32_t* rows;
  const std::uint64_t* key_offsets;
  std::uint64_t size;
  HOLDFAST_BOTH std::uint64_t operator()(std::uint64_t place) const {
    if (place >= size || words[place] == 0 || is_repeated(words, place, size)) return 0;
    const std::uint32_t row = rows[place];
    return space_of(words[place], static_cast<std::uint32_t>(key_offsets[row + 1] - key_offsets[row]));
  }
};

void add_spaces(const PairSearchWorkspace& workspace, const std::uint64_t* key_offsets, std::uint64_t size,
                void* scratch, std::size_t& bytes, cudaStream_t stream) {
  const SpaceAt each{workspace.words[0], workspace.rows[0], key_offsets, size};
  const auto spaces = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0), each);
  check(cub::DeviceScan::ExclusiveSum(scratch, bytes, spaces, workspace.offsets, size + 1, stream),
        "measuring results");
}

/// A pair on its way out of its cell.
struct ReadPair {
  const std::uint64_t* cell;
  const std::byte* key;  ///< that it should have
  std::byte* to;         ///< null: its value is not wanted
  std::uint32_t key_bytes;
  std::uint32_t space;  ///< for the value
  std::uint32_t words;  ///< to be read
  std::uint32_t first;  ///< of them among those of the warp
};

constexpr unsigned kAhead = 4;  ///< words of host memory that a lane asks for at once

/// Word `i` of a pair has come; `next` follows it. False: the key is another.
__device__ bool take_word(const ReadPair& pair, std::uint32_t i, std::uint64_t word, std::uint64_t next,
                          std::uint32_t* size) {
  if (i == 0) {
    const auto value = static_cast<std::uint32_t>(word >> 32);
    *size = min(value, pair.space);
    return static_cast<std::uint32_t>(word) == pair.key_bytes;
  }
  if (i == 1) return true;
  const std::uint32_t at = 8 * (i - 2);
  bool same = true;
  if (at < pair.key_bytes) {
    const std::uint32_t left = min(pair.key_bytes - at, 8u);
    const std::uint64_t mask = left == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * left)) - 1;
    same = (word & mask) == load_user(pair.key + at, left);
  }
  const std::uint32_t whole = pair.key_bytes / 8, skew = pair.key_bytes % 8;  // of the key before the value
  if (pair.to == nullptr || i - 2 < whole || 8 * (i - 2 - whole) >= pair.space) return same;
  const std::uint64_t bytes = skew == 0 ? word : word >> (8 * skew) | next << (64 - 8 * skew);
  reinterpret_cast<std::uint64_t*>(pair.to)[i - 2 - whole] = bytes;
  return same;
}

/// A warp takes up to 32 places, `share` of them, as one range of words.
__global__ void __launch_bounds__(kThreads)
    gather_pairs_kernel(const __grid_constant__ PairSearchWorkspace workspace, const __grid_constant__ FindJob job,
                        const std::byte* heap, std::uint64_t first, std::uint64_t size, std::byte* to, unsigned share) {
  __shared__ ReadPair all[kThreads];
  const CudaMemory memory(nullptr, nullptr);
  const unsigned lane = threadIdx.x % kWarp;
  ReadPair* const pairs = all + (threadIdx.x - lane);
  const std::uint64_t begin = workspace.offsets != nullptr ? workspace.offsets[first] : 0;
  bool same = true;
  for (std::uint64_t base = first_of_warp() * share; base < size; base += all_warps() * share) {
    ReadPair mine{};
    const std::uint64_t place = first + base + lane;
    if (lane < share && base + lane < size && workspace.words[0][place] != 0 &&
        !is_repeated(workspace.words[0], place, job.size)) {
      const heap::CellWord pair{workspace.words[0][place]};
      const gphash::Part key = key_part(job, workspace.rows[0][place]);
      mine.cell = reinterpret_cast<const std::uint64_t*>(heap + pair.begin());
      mine.key = key.data;
      mine.key_bytes = key.size;
      mine.space = value_space(pair.word, key.size);
      if (to != nullptr) mine.to = to + (workspace.offsets[place] - begin);
      // One that is shorter than its key has another, as its first word will say.
      const std::uint32_t bytes = to != nullptr ? pair.pair_bytes() : gphash::pair_bytes(key.size, 0);
      mine.words = (min(bytes, pair.pair_bytes()) + 7) / 8;
    }
    std::uint32_t total = 0;
    mine.first = words_before(mine.words, total);
    pairs[lane] = mine;
    __syncwarp();
    for (std::uint32_t from = 0; from < total; from += kAhead * kWarp) {
      unsigned of[kAhead];
      std::uint64_t words[kAhead];
#pragma unroll
      for (unsigned u = 0; u < kAhead; ++u) {
        const std::uint32_t i = from + u * kWarp + lane;
        of[u] = piece_of(pairs, i);
        words[u] = i < total ? memory.load_value(pairs[of[u]].cell + (i - pairs[of[u]].first)) : 0;
      }
#pragma unroll
      for (unsigned u = 0; u < kAhead; ++u) {
        const std::uint32_t i = from + u * kWarp + lane;
        std::uint64_t next = __shfl_down_sync(kAllLanes, words[u], 1);
        const std::uint64_t later = u + 1 < kAhead ? __shfl_sync(kAllLanes, words[(u + 1) % kAhead], 0) : 0;
        if (i >= total) continue;
        const ReadPair& pair = pairs[of[u]];
        const std::uint32_t word = i - pair.first;
        if (lane == kWarp - 1) next = later;
        if (lane == kWarp - 1 && u + 1 == kAhead && word + 1 < pair.words)
          next = memory.load_value(pair.cell + word + 1);
        same &= take_word(pair, word, words[u], next, &workspace.sizes[first + base + of[u]]);
      }
    }
    __syncwarp();
  }
  if (!same) *workspace.wrong = 1;
}

/// The last of the places that want the pair of `place`, whose values begin at one offset.
__device__ inline std::uint64_t reader_of(const PairSearchWorkspace& workspace, std::uint64_t place,
                                          std::uint64_t size) {
  HOLDFAST_ASSERT(place < size);
  const std::uint64_t offset = workspace.offsets[place];
  std::uint64_t few = place, many = size;  // the first whose offset is larger is in (few, many]
  while (many - few > 1) {
    const std::uint64_t middle = few + (many - few) / 2;
    (workspace.offsets[middle] <= offset ? few : many) = middle;
  }
  return few;
}

__device__ inline bool same_key(const gphash::Part& a, const gphash::Part& b) {
  bool same = a.size == b.size;
  for (std::uint32_t at = 0; same && at < a.size; at += 8)
    same = load_user(a.data + at, a.size - at) == load_user(b.data + at, b.size - at);
  return same;
}

__global__ void __launch_bounds__(kThreads)
    finish_pairs_kernel(const __grid_constant__ PairSearchWorkspace workspace, const __grid_constant__ FindJob job,
                        std::uint64_t first, std::uint64_t size, const std::byte* at) {
  const std::uint64_t begin = workspace.offsets != nullptr ? workspace.offsets[first] : 0;
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads()) {
    const std::uint64_t place = first + i;
    const std::uint64_t word = workspace.words[0][place];
    const std::uint32_t row = workspace.rows[0][place];
    const bool repeated = word != 0 && is_repeated(workspace.words[0], place, job.size);
    if (repeated && !same_key(key_part(job, row), key_part(job, workspace.rows[0][place + 1]))) *workspace.wrong = 1;
    if (workspace.offsets == nullptr) continue;
    Blob blob;
    if (word != 0) {
      const std::uint64_t reader = repeated ? reader_of(workspace, place, job.size) : place;
      blob = {at + (workspace.offsets[place] - begin), workspace.sizes[reader]};
    }
    workspace.blobs[row] = blob;
  }
}

/// The pair is read once more than a search reads it: over the link, so this is for searches that must be sure.
__global__ void __launch_bounds__(kThreads)
    verify_read_pairs_kernel(const __grid_constant__ PairSearchWorkspace workspace,
                             const __grid_constant__ Layout layout, std::uint64_t size) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t row = first_of_thread(); row < size; row += all_threads()) {
    const std::uint64_t word = workspace.words[0][row];
    if (word != 0 && !gphash::is_whole_pair(memory, layout, word)) atomicAdd(workspace.wrong, 1u);
  }
}

}  // namespace

void verify_read_pairs(const PairSearchWorkspace& workspace, std::uint64_t size, const Layout& layout,
                       cudaStream_t stream) {
  verify_read_pairs_kernel<<<blocks_for(verify_read_pairs_kernel, size), kThreads, 0, stream>>>(workspace, layout,
                                                                                                size);
  check_launch("verifying what is read");
}

std::size_t pair_search_scratch_bytes(std::uint64_t rows) {
  PairSearchWorkspace none;
  std::size_t sort = 0, scan = 0;
  sort_pairs(none, rows, ~std::uint64_t{0}, nullptr, sort, nullptr);
  add_spaces(none, nullptr, rows, nullptr, scan, nullptr);
  return std::max({sort, scan, measure_scratch_bytes(rows)});
}

void order_pairs(PairSearchWorkspace& workspace, std::uint64_t size, std::uint64_t heap_bytes, cudaStream_t stream) {
  std::size_t bytes = workspace.scratch_bytes;
  sort_pairs(workspace, size, heap_bytes, workspace.scratch, bytes, stream);
}

void lay_out_pairs(const PairSearchWorkspace& workspace, const FindJob& job, cudaStream_t stream) {
  std::size_t bytes = workspace.scratch_bytes;
  add_spaces(workspace, job.key_offsets, job.size, workspace.scratch, bytes, stream);
}

void gather_pairs(const PairSearchWorkspace& workspace, const FindJob& job, const std::byte* heap, std::uint64_t first,
                  std::uint64_t size, std::uint64_t bytes, std::byte* to, cudaStream_t stream) {
  // What is being read at a time should be little of the heap, for the sake of the translation of addresses, and yet enough for the
  // link. So warps take as many places as have some KiB, and a few blocks of them run on each multiprocessor.
  constexpr std::uint64_t kBytesOfWarp = 4096;
  constexpr unsigned kBlocksOfProcessor = 2;
  const std::uint64_t each = bytes / size + sizeof(gphash::PairHeader);
  auto share = static_cast<unsigned>(std::clamp<std::uint64_t>(kBytesOfWarp / each, 1, kWarp));
  const std::uint64_t warps = std::uint64_t{kBlocksOfProcessor} * processors() * kWarpsPerBlock;
  while (share > 1 && size / share < warps) share /= 2;  // of few places each warp takes fewer
  const std::uint64_t blocks = ((size + share - 1) / share + kWarpsPerBlock - 1) / kWarpsPerBlock;
  const auto grid = static_cast<unsigned>(std::min(blocks, warps / kWarpsPerBlock));
  gather_pairs_kernel<<<grid, kThreads, 0, stream>>>(workspace, job, heap, first, size, to, share);
  check_launch("gathering results");
}

void finish_pairs(const PairSearchWorkspace& workspace, const FindJob& job, std::uint64_t first, std::uint64_t size,
                  const std::byte* at, cudaStream_t stream) {
  finish_pairs_kernel<<<blocks_for(finish_pairs_kernel, size), kThreads, 0, stream>>>(workspace, job, first, size, at);
  check_launch("gathering results");
}

}  // namespace holdfast::gphash::cuda
