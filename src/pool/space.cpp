// space.cpp: best fit into gaps, so that a pool which objects come to and go from stays as small as they are.
#include "pool/space.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "system/mapping.hpp"

namespace holdfast::pool {

namespace {

constexpr std::uint64_t kLarge =
    4 * system::kHugePage;  // from here on extents fit huge pages: smaller ones gain little
constexpr std::uint64_t kLargest = 16 * system::kHugePage;  // from here on they do so even if the file grows by it

}  // namespace

Space::Space(const Directory& directory, std::uint64_t granule)
    : end_(round_up(directory.end(), granule)), granule_(granule) {
  std::uint64_t from = kFirstExtent;
  for (const Extent& extent : directory.extents) {
    const system::FileRange gap{round_up(from, granule), 0};
    const std::uint64_t end = extent.offset / granule * granule;
    if (gap.offset < end) gaps_.push_back({gap.offset, end - gap.offset});
    from = extent.end();
  }
}

/// The first offset from `from` on where `wanted` may begin.
std::uint64_t Space::first_fit(std::uint64_t from, const Wanted& wanted) const {
  const std::uint64_t offset = round_up(from, granule_);
  if (wanted.bytes < kLarge || granule_ > system::kHugePage) return offset;
  return offset +
         (wanted.address % system::kHugePage + system::kHugePage - offset % system::kHugePage) % system::kHugePage;
}

void Space::cut(std::size_t index, const system::FileRange& taken) {
  const system::FileRange gap = gaps_[index];
  HOLDFAST_ASSERT(gap.offset <= taken.offset && taken.end() <= gap.end());
  const auto at = gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(index));
  std::vector<system::FileRange> rest;
  if (gap.offset < taken.offset) rest.push_back({gap.offset, taken.offset - gap.offset});
  if (taken.end() < gap.end()) rest.push_back({taken.end(), gap.end() - taken.end()});
  gaps_.insert(at, rest.begin(), rest.end());
}

std::optional<std::size_t> Space::best_gap(const Wanted& wanted, bool aligned) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    const std::uint64_t offset = aligned ? first_fit(gaps_[i].offset, wanted) : gaps_[i].offset;
    if (offset + wanted.bytes > gaps_[i].end()) continue;
    if (!best || gaps_[i].bytes < gaps_[*best].bytes) best = i;
  }
  return best;
}

std::optional<system::FileRange> Space::take_gap(const Wanted& wanted) {
  const std::optional<std::size_t> fitting = best_gap(wanted, true);
  // A few huge pages less are a better bargain than a larger file.
  const std::optional<std::size_t> best = fitting || wanted.bytes >= kLargest ? fitting : best_gap(wanted, false);
  if (!best) return std::nullopt;
  const std::uint64_t offset = fitting ? first_fit(gaps_[*best].offset, wanted) : gaps_[*best].offset;
  const system::FileRange taken{offset, wanted.bytes};
  cut(*best, taken);
  return taken;
}

std::optional<system::FileRange> Space::take_part(const Wanted& wanted, std::uint64_t least) {
  const auto largest =
      std::max_element(gaps_.begin(), gaps_.end(),
                       [](const system::FileRange& a, const system::FileRange& b) { return a.bytes < b.bytes; });
  if (largest == gaps_.end()) return std::nullopt;
  const std::uint64_t offset = first_fit(largest->offset, wanted);
  if (offset >= largest->end()) return std::nullopt;
  const system::FileRange taken{offset, std::min(wanted.bytes, largest->end() - offset) / granule_ * granule_};
  if (taken.bytes < least || taken.bytes == 0) return std::nullopt;
  cut(static_cast<std::size_t>(largest - gaps_.begin()), taken);
  return taken;
}

system::FileRange Space::take_next(std::uint64_t end, std::uint64_t bytes) {
  const auto found =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const system::FileRange& gap) { return gap.offset == end; });
  if (found == gaps_.end()) return {end, 0};
  const system::FileRange taken{end, std::min(bytes, found->bytes)};
  cut(static_cast<std::size_t>(found - gaps_.begin()), taken);
  return taken;
}

system::FileRange Space::take_behind(const Wanted& wanted) {
  const system::FileRange taken = behind(wanted);
  HOLDFAST_ASSERT(taken.offset >= end_);
  if (taken.offset > end_) gaps_.push_back({end_, taken.offset - end_});
  end_ = taken.end();
  return taken;
}

std::uint64_t Space::free_bytes() const {
  std::uint64_t bytes = 0;
  for (const system::FileRange& gap : gaps_) bytes += gap.bytes;
  return bytes;
}

}  // namespace holdfast::pool
