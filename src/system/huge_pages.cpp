// huge_pages.cpp: MADV_COLLAPSE, which makes huge pages on request, whatever the administrator chose for page faults.
#include "system/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "system/calls.hpp"
#include "system/mapping.hpp"
#include "system/pages.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; Debian 12's headers have it, older ones do not
#endif

namespace holdfast::system {

bool take_huge_pages(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::uint64_t begin = (offset + kHugePage - 1) / kHugePage * kHugePage;
  const std::uint64_t end = (offset + bytes) / kHugePage * kHugePage;
  if (begin >= end) return true;
  const std::uint64_t length = end - begin;
  // The kernel collapses what it finds, and finds nothing in a whole hole: one small page in each will do.
  for (std::uint64_t at = begin; at < end; at += kHugePage) {
    if (system::posix_fallocate(fd, at, kPage) != 0) return false;
  }
  // An address that huge pages fit: a mapping's place in memory and in its file must agree.
  void* const space =
      system::mmap(nullptr, length + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  const auto at = (reinterpret_cast<std::uintptr_t>(space) + kHugePage - 1) / kHugePage * kHugePage;
  void* const mapped =
      system::mmap(reinterpret_cast<void*>(at), length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, begin);
  const bool given = mapped != MAP_FAILED && system::madvise(mapped, length, MADV_COLLAPSE) == 0;
  system::munmap(space, length + kHugePage);
  return given;
}

}  // namespace holdfast::system
