// cells.cpp: the bitmap of free cells, the retired ones, and each thread's cache of free ones.
#include "heap/cells.hpp"

#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/both.hpp"

namespace holdfast::heap {

namespace {
constexpr std::size_t kThreadCells = 256;  // cells a thread takes at once
}  // namespace

void Cells::reset(std::uint64_t cells) {
  const std::lock_guard lock(mutex_);
  bits_.assign((cells + 63) / 64, 0);
  total_ = cells;
  free_ = 0;
  cursor_ = 0;
  retired_.clear();
}

bool Cells::mark_live(std::uint64_t cell) {
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

void Cells::prepare(std::uint64_t cells) {
  const std::lock_guard lock(mutex_);
  bits_.reserve((cells + 63) / 64);
}

void Cells::extend(std::uint64_t cells) {
  const std::lock_guard lock(mutex_);
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

bool Cells::has(bool adds_key) const {
  const std::lock_guard lock(mutex_);
  return spare(adds_key) != 0;
}

std::size_t Cells::take(std::uint64_t* out, std::size_t n, bool adds_key) {
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

void Cells::set_free(std::uint64_t cell) {
  HOLDFAST_ASSERT(cell < total_ && (bits_[word_of(cell)] & bit_of(cell)) == 0);
  bits_[word_of(cell)] |= bit_of(cell);
  ++free_;
}

void Cells::give_back(const std::uint64_t* cells, std::size_t n) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < n; ++i) set_free(cells[i]);
  if (n != 0) cursor_ = std::min(cursor_, word_of(cells[0]));
}

void Cells::retire(const std::vector<std::uint64_t>& cells) {
  retired_.retire(mutex_, cells, [this](std::uint64_t cell) { set_free(cell); });
}

bool Cells::reclaim() {
  const std::lock_guard lock(mutex_);
  return retired_.reclaim([this](std::uint64_t cell) { set_free(cell); });
}

std::uint64_t Cells::free() const {
  const std::lock_guard lock(mutex_);
  return free_;
}

bool Cells::is_free(std::uint64_t cell) const {
  const std::lock_guard lock(mutex_);
  return cell < total_ && (bits_[word_of(cell)] & bit_of(cell)) != 0;
}

void ThreadCells::prepare(std::size_t operations) {
  fresh_.reserve(kThreadCells);
  retired_.reserve(operations);
}

bool ThreadCells::refill(bool adds_key) {
  fresh_.resize(kThreadCells);
  std::size_t taken = cells_.take(fresh_.data(), kThreadCells, true);
  if (taken == 0 && !adds_key) taken = cells_.take(fresh_.data(), 1, false);  // out of the reserve: no more than needed
  fresh_.resize(taken);
  std::reverse(fresh_.begin(), fresh_.end());
  if (taken == 0) missing_adds_key_ = adds_key;
  return taken != 0;
}

void ThreadCells::settle(bool all) {
  if (!retired_.empty()) {
    cells_.retire(retired_);
    retired_.clear();
    cells_.reclaim();
  }
  if (all && !fresh_.empty()) {
    cells_.give_back(fresh_.data(), fresh_.size());
    fresh_.clear();
  }
}

}  // namespace holdfast::heap
