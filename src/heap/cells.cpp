// cells.cpp: the bitmap of free cells, the retired ones, and each thread's cache of free ones.
#include "heap/cells.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "core/bits.hpp"
#include "heap/slab_cells.hpp"

namespace holdfast::heap {

std::unique_ptr<CellSet> make_cells(bool slabs, reclaim::Epochs& epochs) {
  if (slabs) return std::make_unique<SlabCells>(epochs);
  return std::make_unique<Cells>(epochs);
}

void Cells::begin(const View& view) {
  const std::lock_guard lock(mutex_);
  bits_.assign((view.count + 63) / 64, 0);
  total_ = view.count;
  free_ = 0;
  cursor_ = 0;
  retired_.clear();
}

bool Cells::mark_live(std::uint64_t word) {
  const std::uint64_t cell = word - 1;
  HOLDFAST_ASSERT(cell < total_);
  return (__atomic_fetch_or(&bits_[word_of(cell)], bit_of(cell), __ATOMIC_RELAXED) & bit_of(cell)) == 0;
}

void Cells::count_free() {
  const std::lock_guard lock(mutex_);
  free_ = 0;
  for (std::uint64_t i = 0; i < bits_.size(); ++i) {
    bits_[i] = ~bits_[i];
    if (i + 1 == bits_.size() && total_ % 64 != 0) bits_[i] &= bit_of(total_) - 1;
    free_ += static_cast<unsigned>(std::popcount(bits_[i]));
  }
}

void Cells::prepare(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  bits_.reserve((count + 63) / 64);
}

void Cells::extend(const View& view) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t cells = view.count;
  HOLDFAST_ASSERT(cells >= total_);
  bits_.resize((cells + 63) / 64, 0);
  for (; total_ < cells && total_ % 64 != 0; ++total_, ++free_) bits_[word_of(total_)] |= bit_of(total_);
  for (; total_ + 64 <= cells; total_ += 64, free_ += 64) bits_[word_of(total_)] = ~std::uint64_t{0};
  for (; total_ < cells; ++total_, ++free_) bits_[word_of(total_)] |= bit_of(total_);
}

std::uint64_t Cells::spare(bool adds_key) const {
  const std::uint64_t reserve = adds_key ? std::max<std::uint64_t>(1, total_ / 64) : 0;
  return free_ - std::min(free_, reserve);
}

bool Cells::has(unsigned, bool adds_key) const {
  const std::lock_guard lock(mutex_);
  return spare(adds_key) != 0;
}

std::size_t Cells::take(unsigned, std::uint64_t* out, std::size_t n, bool adds_key, const EnterSlab&) {
  const std::lock_guard lock(mutex_);
  n = std::min<std::uint64_t>(n, spare(adds_key));
  std::size_t taken = 0;
  while (taken < n) {
    std::uint64_t& word = bits_[cursor_];
    for (; word != 0 && taken < n; word &= word - 1) {
      out[taken++] = cursor_ * 64 + static_cast<unsigned>(std::countr_zero(word));
    }
    if (taken < n) cursor_ = cursor_ + 1 == bits_.size() ? 0 : cursor_ + 1;
  }
  free_ -= taken;
  return taken;
}

void Cells::set_free(std::uint64_t word) {
  const std::uint64_t cell = word - 1;
  HOLDFAST_ASSERT(cell < total_ && (bits_[word_of(cell)] & bit_of(cell)) == 0);
  bits_[word_of(cell)] |= bit_of(cell);
  ++free_;
}

void Cells::give_back(unsigned, const std::uint64_t* cells, std::size_t n) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < n; ++i) set_free(cells[i] + 1);
  if (n != 0) cursor_ = std::min(cursor_, word_of(cells[0]));
}

HeapUse Cells::use() const {
  const std::lock_guard lock(mutex_);
  return {.free_cells = free_, .used_cells = total_ - free_};
}

bool Cells::is_free(std::uint64_t word) const {
  const std::lock_guard lock(mutex_);
  return word - 1 < total_ && (bits_[word_of(word - 1)] & bit_of(word - 1)) != 0;
}

void ThreadCells::prepare(std::size_t operations) {
  fresh_.resize(cells_.classes());
  retired_.reserve(operations);
}

void ThreadCells::require_memory() {
  if (std::exchange(no_memory_, false)) throw std::bad_alloc();
}

bool ThreadCells::refill(unsigned size_class, bool adds_key, const CellSet::EnterSlab& enter) {
  std::vector<std::uint64_t>& fresh = fresh_[size_class];
  std::size_t taken = 0;
  try {
    fresh.resize(cells_.ahead(size_class));
    taken = cells_.take(size_class, fresh.data(), fresh.size(), true, enter);
    // Out of the reserve: no more than needed.
    if (taken == 0 && !adds_key) taken = cells_.take(size_class, fresh.data(), 1, false, enter);
  } catch (const std::bad_alloc&) {  // the caller holds a claim
    no_memory_ = true;
  }
  fresh.resize(taken);
  count(size_class, static_cast<std::int64_t>(taken));
  std::reverse(fresh.begin(), fresh.end());
  if (taken != 0) return true;
  missing_class_ = size_class;
  missing_adds_key_ = adds_key;
  return false;
}

void ThreadCells::settle(bool all) {
  if (!retired_.empty()) {
    cells_.retire(retired_);
    retired_.clear();
    cells_.reclaim();
  }
  for (unsigned c = 0; all && c < fresh_.size(); ++c) {
    if (fresh_[c].empty()) continue;
    cells_.give_back(c, fresh_[c].data(), fresh_[c].size());
    count(c, -static_cast<std::int64_t>(fresh_[c].size()));
    fresh_[c].clear();
  }
}

}  // namespace holdfast::heap
