// slab_view.hpp: slabs as kernels see them, in GPU memory: which cells are free, and what a batch has
// reserved of them. Rules 5, 6, 7.
//
// A batch's cells are taken in bulk. How many it may need of each class is counted first; then one reservation lists free cells,
// those of the lowest slabs first, and then those of slabs that were free for any class, which enter the directory durably before
// any slot names one of their cells. The batch takes from the list by fetch-and-add, and gives back what it did not use.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "heap/slab.hpp"

namespace holdfast::heap::cuda {

/// The smallest cells of a slab, and so the bits that stand for its cells: of larger ones the first few.
inline constexpr std::uint32_t kSlabCells = static_cast<std::uint32_t>(kSlabBytes / class_bytes(0));

/// What a reservation is about, by class.
struct ClassCells {
  std::uint32_t demand;    ///< cells that rows may need
  std::uint32_t open;      ///< of those granted, the first that rows which add a key may take
  std::uint32_t granted;   ///< in all
  std::uint32_t next;      ///< taken, or more where some found none
  std::uint32_t existing;  ///< of those granted, the ones in slabs that have the class already
  std::uint32_t fresh;     ///< slabs that get the class
  std::uint32_t missing;   ///< slabs that there were not enough free ones of
  std::uint32_t first;     ///< where its cells begin in the list
  std::uint64_t cells, free;
};

struct SlabState {
  ClassCells of[kClasses];
  std::uint64_t usable;      ///< slabs that are no directory
  std::uint64_t free_slabs;  ///< of them, free for any class
  std::uint32_t grants;      ///< slabs that give cells
  std::uint32_t listed;      ///< cells in all
  std::int64_t left;         ///< bytes that live pairs leave of their cells
};

/// Some free cells of a slab.
struct SlabGrant {
  std::uint32_t slab;
  std::uint32_t size_class;
  std::uint32_t first;  ///< where they go in the list
  std::uint32_t count;
};

/// Trivially copyable: it travels into kernels by value. All pointers are to GPU memory.
struct SlabView {
  std::uint32_t* used = nullptr;       ///< (slabs, kSlabCells / 32) a bit for each cell that is not free
  std::uint32_t* entry = nullptr;      ///< (slabs,) 1 + the class; 0: free for any
  std::uint32_t* free = nullptr;       ///< (slabs,) cells, of those that have a class
  std::uint64_t* directory = nullptr;  ///< (slabs,) what the pool's directory says
  SlabGrant* grants = nullptr;         ///< (slabs,)
  std::uint64_t* list = nullptr;       ///< (space,) where granted cells begin in the heap
  SlabState* state = nullptr;
  std::uint64_t slabs = 0;

  HOLDFAST_BOTH static std::uint64_t bit_of(std::uint64_t begin, unsigned size_class) {
    const auto in_slab = static_cast<std::uint32_t>(begin & (kSlabBytes - 1));
    return (begin >> kSlabBits) * kSlabCells + in_slab / class_bytes(size_class);
  }
  HOLDFAST_BOTH static std::uint64_t bit_of(std::uint64_t word) {
    const CellWord pair{word};
    return bit_of(pair.begin(), pair.size_class());
  }
};

HOLDFAST_BOTH constexpr std::uint32_t cells_of_slab(unsigned size_class) {
  return static_cast<std::uint32_t>(kSlabBytes / class_bytes(size_class));
}
HOLDFAST_BOTH constexpr bool is_directory(std::uint64_t slab) { return slab % (kSlabBytes / 8) == 0; }

}  // namespace holdfast::heap::cuda
