// pages.hpp: the sizes of pages.
#pragma once

#include <cstdint>

namespace holdfast::system {

/// Of every medium but a hugetlbfs.
inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

}  // namespace holdfast::system
