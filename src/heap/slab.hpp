// slab.hpp: where items of any length lie: cells of 50 sizes in slabs of 2 MiB, one size a slab. Rule 7.
//
// The sizes, called classes, are the powers of two from 32 bytes up and three steps between each two: a pair wastes less than a
// fifth of its cell, and cells go up to 160 KiB, more than the largest pair needs, so that no pair takes several. The first of
// every 2^18 slabs is their directory: a word for each, 0 or 1 + its class, which is durable before a slot names a cell in the
// slab, and changes only when no slot does. A slot's word says where the cell is and of which class: recovery reads no pair.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::heap {

inline constexpr unsigned kClasses = 50;
inline constexpr unsigned kSlabBits = 21;
inline constexpr std::uint64_t kSlabBytes = std::uint64_t{1} << kSlabBits;
inline constexpr std::uint64_t kNoCell = ~std::uint64_t{0};  ///< in place of a cell

HOLDFAST_BOTH constexpr std::uint32_t class_bytes(unsigned size_class) {
  return (8 * (4 + size_class % 4)) << (size_class / 4);
}

/// The smallest class whose cells have `bytes` bytes, which are at most those of the largest.
HOLDFAST_BOTH constexpr unsigned class_of(std::uint32_t bytes) {
  if (bytes <= 32) return 0;
  const std::uint32_t last = bytes - 1;
  unsigned power = 5;
  while (last >> (power + 1) != 0) ++power;
  return 4 * (power - 5) + (last >> (power - 2)) - 4 + 1;
}
static_assert(class_of(32) == 0 && class_of(33) == 1 && class_of(64) == 4 && class_of(65) == 5);
static_assert(class_bytes(kClasses - 1) == 163840 && class_of(163840) == kClasses - 1);

/// A word that names a cell: bits 0 to 7 are 1 + the class, 8 to 50 where the cell begins in the heap, in units of 8 bytes, and 51 to 63
/// what the pair leaves of it, in units of 8 bytes.
struct CellWord {
  std::uint64_t word;

  HOLDFAST_BOTH static constexpr CellWord of(std::uint64_t begin, unsigned size_class, std::uint32_t pair_bytes) {
    const std::uint64_t left = (class_bytes(size_class) - pair_bytes) / 8;
    return {left << 51 | begin / 8 << 8 | (size_class + 1)};
  }
  HOLDFAST_BOTH constexpr unsigned size_class() const { return static_cast<unsigned>(word & 0xff) - 1; }
  HOLDFAST_BOTH constexpr std::uint64_t begin() const { return (word >> 8 & ((std::uint64_t{1} << 43) - 1)) * 8; }
  HOLDFAST_BOTH constexpr std::uint32_t left() const { return static_cast<std::uint32_t>(word >> 51) * 8; }
  /// Those of the pair, rounded up to 8.
  HOLDFAST_BOTH constexpr std::uint32_t pair_bytes() const { return class_bytes(size_class()) - left(); }
};

/// A heap as it is mapped now. It is fetched for each batch: growth may map it elsewhere. Trivially copyable.
struct View {
  std::byte* base = nullptr;
  std::uint64_t count = 0;         ///< slabs; or cells, where all are of one size
  unsigned slab_bits = kSlabBits;  ///< a slab has 2^slab_bits bytes

  HOLDFAST_BOTH std::uint64_t slab_bytes() const { return std::uint64_t{1} << slab_bits; }
  /// So many slabs, its own among them, have their entries in one directory.
  HOLDFAST_BOTH std::uint64_t a_directory() const { return slab_bytes() / 8; }
  HOLDFAST_BOTH bool is_directory(std::uint64_t slab) const { return slab % a_directory() == 0; }
  HOLDFAST_BOTH std::uint64_t* entry(std::uint64_t slab) const {
    const std::uint64_t in_directory = slab % a_directory();
    return reinterpret_cast<std::uint64_t*>(base + (slab - in_directory) * slab_bytes()) + in_directory;
  }
  HOLDFAST_BOTH std::uint32_t cells(unsigned size_class) const {
    return static_cast<std::uint32_t>(slab_bytes() / class_bytes(size_class));
  }
  HOLDFAST_BOTH std::uint64_t slab_of(std::uint64_t begin) const { return begin >> slab_bits; }
  /// Which cell of its slab begins at `begin`.
  HOLDFAST_BOTH std::uint32_t index_of(std::uint64_t begin, unsigned size_class) const {
    return static_cast<std::uint32_t>(begin & (slab_bytes() - 1)) / class_bytes(size_class);
  }
};

/// Steps that the model can leave out. Memory policies of shipped code keep both.
enum class Step : std::uint8_t {
  flush_directory,  ///< a slab's class is written back
  fence_directory   ///< and durable before a cell of the slab is used
};

/// A policy `Memory` that writes the slab directory.
template <class M>
concept SlabMemory = pool::PersistentMemory<M> && pool::SteppedMemory<M, Step>;

/// True if the heap has a cell where `word` says, of the class that it says.
template <pool::ReadableMemory Memory>
HOLDFAST_BOTH bool names_cell(const Memory& memory, const View& view, std::uint64_t word) {
  const CellWord cell{word};
  if ((word & 0xff) == 0 || cell.size_class() >= kClasses) return false;
  const std::uint32_t size = class_bytes(cell.size_class());
  const std::uint64_t slab = view.slab_of(cell.begin());
  const auto in_slab = static_cast<std::uint32_t>(cell.begin() & (view.slab_bytes() - 1));
  if (slab >= view.count || view.is_directory(slab) || cell.left() >= size) return false;
  if (in_slab % size != 0 || in_slab / size >= view.cells(cell.size_class())) return false;
  return memory.load(view.entry(slab)) == cell.size_class() + 1;
}

/// Gives a slab, in which no word names a cell, its class, and waits until that is durable.
template <SlabMemory Memory>
HOLDFAST_BOTH void enter_slab(const Memory& memory, const View& view, std::uint64_t slab, unsigned size_class) {
  std::uint64_t* const entry = view.entry(slab);
  if (memory.load(entry) == size_class + 1) return;
  memory.store(entry, size_class + 1);
  if (memory.keeps(Step::flush_directory)) memory.flush(entry, sizeof *entry);
  if (memory.keeps(Step::fence_directory)) memory.fence();
  HOLDFAST_FAILPOINT(slab_entered);
}

}  // namespace holdfast::heap
