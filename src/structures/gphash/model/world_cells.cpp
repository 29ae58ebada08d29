// world_cells.cpp: the free cells of a world's heap: of one size, or of the classes that slabs have been given.
#include <algorithm>

#include "heap/slab.hpp"
#include "structures/gphash/model/world.hpp"

namespace holdfast::gphash::model {

namespace {

// A free cell of a pair is noted as a slot's word would name it, if the pair filled it.
std::uint64_t cell_of(std::uint64_t begin, unsigned size_class) {
  return heap::CellWord::of(begin, size_class, heap::class_bytes(size_class)).word;
}
std::uint64_t slab_of(std::uint64_t cell) { return heap::CellWord{cell}.begin() >> kModelSlabBits; }

}  // namespace

std::uint64_t World::filled(std::uint64_t word) {
  const heap::CellWord pair{word};
  return cell_of(pair.begin(), pair.size_class());
}

/// The place in `free_` of the cell of a class that was freed last; its size if none may be taken.
std::uint64_t World::find_free(unsigned size_class, bool adds_key) const {
  std::size_t found = free_.size();
  unsigned count = 0;
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (heap::CellWord{free_[i]}.size_class() != size_class) continue;
    found = i;
    ++count;
  }
  return count > (adds_key ? shape_.reserve : 0) ? found : free_.size();
}

/// A slab in which no cell is taken, or kNone. The directory is slab 0.
std::uint64_t World::free_slab() const {
  for (std::uint64_t slab = shape_.cells - 1; slab > 0; --slab) {
    const std::uint8_t entry = entered_[slab];
    if (entry == 0) return slab;
    const auto is_here = [&](std::uint64_t cell) { return slab_of(cell) == slab; };
    const auto cells = (std::uint64_t{1} << kModelSlabBits) / heap::class_bytes(entry - 1u);
    if (static_cast<std::uint64_t>(std::count_if(free_.begin(), free_.end(), is_here)) == cells) return slab;
  }
  return kNone;
}

std::uint64_t World::take_pair_cell(unsigned size_class, bool adds_key,
                                    const std::function<void(std::uint64_t slab)>& enter) {
  access();
  std::size_t found = find_free(size_class, adds_key);
  while (found == free_.size()) {
    const std::uint64_t slab = free_slab();
    if (slab == kNone) break;
    std::erase_if(free_, [&](std::uint64_t cell) { return slab_of(cell) == slab; });
    entered_[slab] = static_cast<std::uint8_t>(size_class + 1);
    enter(slab);
    const std::uint64_t bytes = heap::class_bytes(size_class), end = (slab + 1) << kModelSlabBits;
    for (std::uint64_t at = slab << kModelSlabBits; at + bytes <= end; at += bytes)
      free_.push_back(cell_of(at, size_class));
    found = find_free(size_class, adds_key);
  }
  std::uint64_t begin = kNone;
  if (found != free_.size()) {
    begin = heap::CellWord{free_[found]}.begin();
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(found));
  }
  trace(Access::take, nullptr, begin);
  note(begin);
  return begin;
}

void World::set_free_pairs(const std::function<bool(std::uint64_t)>& is_free) {
  const auto* const directory = reinterpret_cast<const std::uint64_t*>(heap());
  free_.clear();
  for (unsigned slab = 1; slab < shape_.cells; ++slab) {
    entered_[slab] = static_cast<std::uint8_t>(directory[slab]);
    if (entered_[slab] == 0) continue;
    const unsigned size_class = entered_[slab] - 1u;
    const std::size_t before = free_.size(), cells = (std::size_t{1} << kModelSlabBits) / heap::class_bytes(size_class);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::uint64_t cell =
          cell_of((std::uint64_t{slab} << kModelSlabBits) + i * heap::class_bytes(size_class), size_class);
      if (is_free(cell)) free_.push_back(cell);
    }
    if (free_.size() - before != cells) continue;
    free_.resize(before);
    entered_[slab] = 0;
  }
}

std::vector<std::uint64_t> World::all_pair_cells() const {
  std::vector<std::uint64_t> cells;
  for (std::uint64_t slab = 1; slab < shape_.cells; ++slab) {
    if (entered_[slab] == 0) continue;
    const std::uint64_t bytes = heap::class_bytes(entered_[slab] - 1u), end = (slab + 1) << kModelSlabBits;
    for (std::uint64_t at = slab << kModelSlabBits; at + bytes <= end; at += bytes)
      cells.push_back(cell_of(at, entered_[slab] - 1u));
  }
  return cells;
}

std::uint64_t World::take_cell(bool adds_key) {
  access();
  std::uint64_t cell = kNone;
  if (free_.size() > (adds_key ? shape_.reserve : 0)) {
    cell = free_.back();
    free_.pop_back();
  }
  trace(Access::take, nullptr, cell);
  note(cell);
  return cell;
}

void World::return_cell(std::uint64_t cell) {
  access();
  trace(Access::give_back, nullptr, cell);
  note(cell);
  free_.push_back(cell);
}

void World::retire_cell(std::uint64_t cell) {
  access();
  trace(Access::retire, nullptr, cell);
  note(cell);
  if (left_out == gphash::Step::retire_cell) {
    free_.push_back(cell);
  } else {
    callers_[caller()].retired.push_back(cell);
  }
}

void World::set_free_cells(std::uint64_t cells, const std::function<bool(std::uint64_t)>& is_free) {
  free_.clear();
  for (std::uint64_t cell = cells; cell-- > 0;) {
    if (is_free(cell + 1)) free_.push_back(cell);
  }
}

}  // namespace holdfast::gphash::model
