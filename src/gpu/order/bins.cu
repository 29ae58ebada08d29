// bins.cu: the division of memory into bins, and the launches between the kernels that count rows and those that read them.
#include "gpu/order/bins.hpp"

#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <bit>

#include "gpu/runtime.hpp"

namespace holdfast::gpu {

namespace {

/// `scratch` null: only says in `bytes` how much it takes.
void sum(const Bins& bins, void* scratch, std::size_t& bytes, cudaStream_t stream) {
  check(cub::DeviceScan::ExclusiveSum(scratch, bytes, bins.counts, bins.starts, bins.bins + 1, stream),
        "ordering rows");
}

}  // namespace

void divide(Bins& bins, std::uint64_t cells, std::uint32_t cell_bytes, unsigned most_bits) {
  const std::uint64_t last = cells - 1;
  const auto bits = static_cast<unsigned>(std::bit_width(last));
  const auto beyond = [](unsigned all, unsigned part) { return all > part ? all - part : 0; };
  const unsigned page = beyond(kPageBits + 1, static_cast<unsigned>(std::bit_width(cell_bytes)));
  bins.shift = std::max(std::min(page, beyond(bits, kFewBinBits)), beyond(bits, most_bits));
  bins.bins = static_cast<std::uint32_t>(last >> bins.shift) + 1;
}

std::size_t bins_scratch_bytes() {
  Bins largest;
  largest.bins = 1u << kBinBits;
  std::size_t bytes = 0;
  sum(largest, nullptr, bytes, nullptr);
  return bytes;
}

void add_up(const Bins& bins, cudaStream_t stream) {
  std::size_t bytes = bins.scratch_bytes;
  sum(bins, bins.scratch, bytes, stream);
}

}  // namespace holdfast::gpu
