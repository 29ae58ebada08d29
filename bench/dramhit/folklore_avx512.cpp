// folklore_avx512.cpp: Folklore, compiled for avx512 tiles.
#include "dramhit/folklore_impl.hpp"
#include "structures/dramhit/simd/tile_avx512.hpp"

namespace holdfast::bench {

std::unique_ptr<Folklore> avx512_folklore(std::uint64_t capacity, bool populate) {
  return std::make_unique<FolkloreFor<dramhit::SlotMemory<dramhit::Avx512Tile, true>>>(capacity, populate);
}

}  // namespace holdfast::bench
