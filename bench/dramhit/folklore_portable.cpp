// folklore_portable.cpp: Folklore in plain C++, and the choice.
#include "dramhit/folklore_impl.hpp"
#include "structures/dramhit/simd/tile.hpp"
#include "threads/instruction_set.hpp"

namespace holdfast::bench {

std::unique_ptr<Folklore> portable_folklore(std::uint64_t capacity, bool populate) {
  return std::make_unique<FolkloreFor<dramhit::SlotMemory<dramhit::PortableTile, false>>>(capacity, populate);
}

std::unique_ptr<Folklore> make_folklore(std::uint64_t capacity, bool populate) {
  const bool wide = threads::instruction_set() == threads::InstructionSet::avx512;
  return wide ? avx512_folklore(capacity, populate) : portable_folklore(capacity, populate);
}

}  // namespace holdfast::bench
