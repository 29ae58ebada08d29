// slab_cells.hpp: which cells of a heap of slabs are free. Derived from the slots at open, never stored. Rules 5, 6, 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heap/cells.hpp"
#include "heap/slab.hpp"

namespace holdfast::heap {

/// The free cells of each class, a bit each, the slabs that are free for any class, and the retired cells. Thread-safe.
class SlabCells final : public CellSet {
 public:
  using CellSet::CellSet;
  unsigned classes() const override { return kClasses; }
  std::size_t ahead(unsigned size_class) const override;
  std::uint64_t least_growth() const override { return 8; }
  std::uint64_t cells_for(std::uint64_t) const override { return 0; }
  /// With the classes that the directory gives to slabs.
  void begin(const View& view) override;
  bool mark_live(std::uint64_t word) override;
  void count_free() override;
  void prepare(std::uint64_t count) override;
  void extend(const View& view) override;
  /// Those of the lowest slabs first.
  std::size_t take(unsigned size_class, std::uint64_t* out, std::size_t n, bool adds_key,
                   const EnterSlab& enter) override;
  bool has(unsigned size_class, bool adds_key) const override;
  void give_back(unsigned size_class, const std::uint64_t* begins, std::size_t n) override;
  HeapUse use() const override;
  bool is_free(std::uint64_t word) const override;

 private:
  struct Slab {
    std::uint8_t entry = 0;  ///< 1 + the class; 0: free for any
    std::uint32_t cells = 0, free = 0;
    std::uint32_t cursor = 0;         ///< no word of `bits` before it has a bit
    std::vector<std::uint64_t> bits;  ///< 1: free (while recovering: 1: live)
  };
  /// Slabs by number, lowest first.
  struct SlabSet {
    std::vector<std::uint64_t> bits;
    std::size_t cursor = 0;
    std::uint64_t count = 0;
    void prepare(std::uint64_t slabs);  ///< space for those below `slabs`: `add` needs none
    void add(std::uint64_t slab);
    void remove(std::uint64_t slab);
    std::uint64_t lowest();  ///< there is one
  };
  struct Class {
    SlabSet with_free;
    std::uint64_t cells = 0, free = 0;
  };
  struct SlabCell {
    std::uint64_t slab;
    std::uint32_t index;
  };

  SlabCell place_of(unsigned size_class, std::uint64_t begin) const;
  std::uint64_t spare_slabs(bool adds_key) const;
  std::uint64_t spare_cells(unsigned size_class, bool adds_key) const;
  void set_class(std::uint64_t slab, unsigned size_class);
  void set_free(unsigned size_class, std::uint64_t begin);
  void set_free(std::uint64_t word) override;
  void list(std::uint64_t slab);  ///< where its free cells say that it belongs

  unsigned slab_bits_ = kSlabBits;
  std::vector<Slab> slabs_;
  std::uint64_t usable_ = 0;  ///< slabs that are no directory
  SlabSet free_slabs_;
  Class classes_[kClasses];
};

}  // namespace holdfast::heap
