// pages.hpp: pool files without their pages of zeros: a small pool uses little of its directory, and of slabs of 2 MiB.
//
// A packed file is the pages that are not all zero, the first two always; the number of each, as 32 bits; how many they are, and
// how many pages the file has, as 32 bits too; and the eight bytes of kPagesMagic.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::test {

inline constexpr std::string_view kPagesMagic = "HF PAGES";
inline constexpr std::size_t kPageBytes = 4096;

bool is_zero_page(std::string_view page);

/// `bytes` are whole pages.
std::string pack_pages(const std::string& bytes);
bool is_packed(const std::string& bytes);
/// What was packed, or its first `most_pages` pages. Of damaged ones as `write_pages` does.
std::string unpack_pages(const std::string& packed, std::size_t most_pages = 1 << 20);
/// Writes the file that was packed; with `sparse`, what was left out are holes. Damaged ones too: pages that are not there are zero,
/// those beyond the file's end are left out, and it has no more than `most_pages`.
void write_pages(const std::string& path, const std::string& packed, std::size_t most_pages = 1 << 20,
                 bool sparse = false);

}  // namespace holdfast::test
