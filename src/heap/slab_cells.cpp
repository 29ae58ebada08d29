// slab_cells.cpp: the bitmaps of slabs, their classes, and their retired cells.
#include "heap/slab_cells.hpp"

#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/both.hpp"

namespace holdfast::heap {

namespace {
constexpr std::uint32_t words_for(std::uint32_t cells) { return (cells + 63) / 64; }
}  // namespace

void SlabCells::SlabSet::prepare(std::uint64_t slabs) {
  if (bits.size() * 64 < slabs) bits.resize((slabs + 63) / 64, 0);
}

void SlabCells::SlabSet::add(std::uint64_t slab) {
  HOLDFAST_ASSERT(slab / 64 < bits.size());
  count += (bits[slab / 64] & bit_of(slab)) == 0;
  bits[slab / 64] |= bit_of(slab);
  cursor = std::min<std::size_t>(cursor, slab / 64);
}

void SlabCells::SlabSet::remove(std::uint64_t slab) {
  if (bits.size() <= slab / 64) return;
  count -= (bits[slab / 64] & bit_of(slab)) != 0;
  bits[slab / 64] &= ~bit_of(slab);
}

std::uint64_t SlabCells::SlabSet::lowest() {
  HOLDFAST_ASSERT(count != 0);
  while (bits[cursor] == 0) ++cursor;
  return cursor * 64 + static_cast<unsigned>(std::countr_zero(bits[cursor]));
}

std::size_t SlabCells::ahead(unsigned size_class) const {
  constexpr std::uint32_t kBytes = 64 << 10;
  return std::clamp<std::size_t>(kBytes / class_bytes(size_class), 1, 256);
}

void SlabCells::set_class(std::uint64_t slab, unsigned size_class) {
  Slab& s = slabs_[slab];
  const auto cells = static_cast<std::uint32_t>((std::uint64_t{1} << slab_bits_) / class_bytes(size_class));
  s.bits.assign(words_for(cells), 0);  // first: without memory for it nothing changes
  s.entry = static_cast<std::uint8_t>(size_class + 1);
  s.cells = cells;
  s.free = s.cursor = 0;
}

void SlabCells::begin(const View& view) {
  const std::lock_guard lock(mutex_);
  slab_bits_ = view.slab_bits;
  slabs_.assign(view.count, Slab{});
  retired_.clear();
  for (std::uint64_t slab = 0; slab < view.count; ++slab) {
    if (view.is_directory(slab)) continue;
    const std::uint64_t entry = __atomic_load_n(view.entry(slab), __ATOMIC_ACQUIRE);
    // A class that there is not belongs to no slot: the slab is free, and its entry is written when it is taken.
    if (entry != 0 && entry <= kClasses) set_class(slab, static_cast<unsigned>(entry - 1));
  }
}

bool SlabCells::mark_live(std::uint64_t word) {
  const CellWord pair{word};
  const auto [slab, index] = place_of(pair.size_class(), pair.begin());
  return (__atomic_fetch_or(&slabs_[slab].bits[index / 64], bit_of(index), __ATOMIC_RELAXED) & bit_of(index)) == 0;
}

void SlabCells::count_free() {
  const std::lock_guard lock(mutex_);
  free_slabs_ = {};
  free_slabs_.prepare(slabs_.size());
  for (Class& c : classes_) c = {};
  for (std::uint64_t slab = 0; slab < slabs_.size(); ++slab) {
    if (slabs_[slab].entry != 0) classes_[slabs_[slab].entry - 1].with_free.prepare(slab + 1);
  }
  usable_ = 0;
  for (std::uint64_t slab = 0; slab < slabs_.size(); ++slab) {
    if (slab % ((std::uint64_t{1} << slab_bits_) / 8) == 0) continue;
    ++usable_;
    Slab& s = slabs_[slab];
    for (std::uint32_t i = 0; i < s.bits.size(); ++i) {
      s.bits[i] = ~s.bits[i];
      if (i + 1 == s.bits.size() && s.cells % 64 != 0) s.bits[i] &= bit_of(s.cells) - 1;
      s.free += static_cast<unsigned>(std::popcount(s.bits[i]));
    }
    if (s.entry != 0) {
      classes_[s.entry - 1].cells += s.cells;
      classes_[s.entry - 1].free += s.free;
    }
    list(slab);
  }
}

/// Puts a slab where its free cells belong: a wholly free one is free for any class.
void SlabCells::list(std::uint64_t slab) {
  Slab& s = slabs_[slab];
  if (s.free == s.cells) {
    if (s.entry != 0) {
      Class& c = classes_[s.entry - 1];
      c.cells -= s.cells;
      c.free -= s.free;
      c.with_free.remove(slab);
    }
    s = Slab{};
    free_slabs_.add(slab);
  } else if (s.free != 0) {
    classes_[s.entry - 1].with_free.add(slab);
  } else {
    classes_[s.entry - 1].with_free.remove(slab);
  }
}

void SlabCells::prepare(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  slabs_.reserve(count);
  free_slabs_.prepare(count);
}

void SlabCells::extend(const View& view) {
  const std::lock_guard lock(mutex_);
  HOLDFAST_ASSERT(view.count >= slabs_.size());
  free_slabs_.prepare(view.count);
  for (std::uint64_t slab = slabs_.size(); slab < view.count; ++slab) {
    slabs_.emplace_back();
    if (view.is_directory(slab)) continue;
    ++usable_;
    free_slabs_.add(slab);
  }
}

SlabCells::SlabCell SlabCells::place_of(unsigned size_class, std::uint64_t begin) const {
  const std::uint64_t in_slab = begin & ((std::uint64_t{1} << slab_bits_) - 1);
  return {begin >> slab_bits_, static_cast<std::uint32_t>(in_slab) / class_bytes(size_class)};
}

std::uint64_t SlabCells::spare_slabs(bool adds_key) const {
  const std::uint64_t reserve = adds_key ? std::max<std::uint64_t>(1, usable_ / 64) : 0;
  return free_slabs_.count > reserve ? free_slabs_.count - reserve : 0;
}

std::uint64_t SlabCells::spare_cells(unsigned size_class, bool adds_key) const {
  const Class& c = classes_[size_class];
  const std::uint64_t reserve = adds_key ? std::max<std::uint64_t>(1, c.cells / 64) : 0;
  return c.free > reserve ? c.free - reserve : 0;
}

bool SlabCells::has(unsigned size_class, bool adds_key) const {
  const std::lock_guard lock(mutex_);
  return spare_cells(size_class, adds_key) != 0 || spare_slabs(adds_key) != 0;
}

std::size_t SlabCells::take(unsigned size_class, std::uint64_t* out, std::size_t n, bool adds_key,
                            const EnterSlab& enter) {
  const std::lock_guard lock(mutex_);
  Class& c = classes_[size_class];
  std::uint64_t entered = ~std::uint64_t{0};
  // A slab of a single cell would be all reserve: where slabs can be had, they are had until there is more.
  while (spare_cells(size_class, adds_key) == 0) {
    if (spare_slabs(adds_key) == 0) return 0;
    const std::uint64_t slab = free_slabs_.lowest();
    c.with_free.prepare(slab + 1);
    set_class(slab, size_class);
    enter(slab, size_class);
    free_slabs_.remove(slab);
    Slab& s = slabs_[slab];
    s.free = s.cells;
    for (std::uint32_t i = 0; i < s.cells; ++i) s.bits[i / 64] |= bit_of(i);
    c.cells += s.cells;
    c.free += s.free;
    c.with_free.add(slab);
    entered = slab;
  }
  n = std::min<std::uint64_t>(n, spare_cells(size_class, adds_key));
  std::size_t taken = 0;
  while (taken < n) {
    // A slab that was just entered gives a cell first: one that has a class has a live cell, or is another's.
    const std::uint64_t slab = taken == 0 && entered < slabs_.size() ? entered : c.with_free.lowest();
    Slab& s = slabs_[slab];
    while (s.bits[s.cursor] == 0) ++s.cursor;
    std::uint64_t& word = s.bits[s.cursor];
    for (; word != 0 && taken < n; word &= word - 1, --s.free) {
      const std::uint64_t index = s.cursor * 64 + static_cast<unsigned>(std::countr_zero(word));
      out[taken++] = (slab << slab_bits_) + index * class_bytes(size_class);
    }
    if (s.free == 0) c.with_free.remove(slab);
  }
  c.free -= taken;
  return taken;
}

void SlabCells::set_free(unsigned size_class, std::uint64_t begin) {
  const auto [slab, index] = place_of(size_class, begin);
  Slab& s = slabs_[slab];
  HOLDFAST_ASSERT(s.entry == size_class + 1 && (s.bits[index / 64] & bit_of(index)) == 0);
  s.bits[index / 64] |= bit_of(index);
  s.cursor = std::min(s.cursor, index / 64);
  ++s.free;
  ++classes_[size_class].free;
  list(slab);
}

void SlabCells::set_free(std::uint64_t word) { set_free(CellWord{word}.size_class(), CellWord{word}.begin()); }

void SlabCells::give_back(unsigned size_class, const std::uint64_t* begins, std::size_t n) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < n; ++i) set_free(size_class, begins[i]);
}

HeapUse SlabCells::use() const {
  const std::lock_guard lock(mutex_);
  HeapUse use;
  use.all_slabs = slabs_.size();
  use.slabs = usable_;
  for (const Slab& s : slabs_) {
    if (s.entry == 0 || s.free == s.cells) continue;
    ++use.used_slabs;
    use.free_cells += s.free;
    use.used_cells += s.cells - s.free;
    use.used_bytes += std::uint64_t{s.cells - s.free} * class_bytes(s.entry - 1u);
  }
  return use;
}

bool SlabCells::is_free(std::uint64_t word) const {
  const std::lock_guard lock(mutex_);
  const CellWord pair{word};
  const auto [slab, index] = place_of(pair.size_class(), pair.begin());
  const Slab& s = slabs_[slab];
  return s.entry != pair.size_class() + 1 || (s.bits[index / 64] & bit_of(index)) != 0;
}

}  // namespace holdfast::heap
