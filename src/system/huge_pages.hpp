// huge_pages.hpp: huge pages for the parts of a tmpfs file that get space, where the kernel can give them.
#pragma once

#include <cstdint>

namespace holdfast::system {

/// Gives [offset, offset + bytes) of the file, within its length, huge pages where whole ones fit: holes become zero bytes,
/// and bytes that are there stay. True if every one was given. False loses only speed: the kernel is older than 6.1,
/// forbids huge pages, has no memory in one piece, or the file system is full.
bool take_huge_pages(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace holdfast::system
