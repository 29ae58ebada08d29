// huge_pages.cpp: MADV_COLLAPSE, which makes huge pages on request, whatever the administrator chose for page faults.
#include "memory/huge_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "memory/mapping.hpp"
#include "memory/superblock.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; Debian 12's headers have it, older ones do not
#endif

namespace holdfast::memory {

bool take_huge_pages(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::uint64_t begin = (offset + kHugePage - 1) / kHugePage * kHugePage;
  const std::uint64_t end = (offset + bytes) / kHugePage * kHugePage;
  if (begin >= end) return true;
  const std::uint64_t length = end - begin;
  // The kernel collapses what it finds, and finds nothing in a whole hole: one small page in each will do.
  for (std::uint64_t at = begin; at < end; at += kHugePage) {
    if (posix_fallocate(fd, static_cast<off_t>(at), kPage) != 0) return false;
  }
  // An address that huge pages fit: a mapping's place in memory and in its file must agree.
  void* const room = mmap(nullptr, length + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  const auto at = (reinterpret_cast<std::uintptr_t>(room) + kHugePage - 1) / kHugePage * kHugePage;
  void* const mapped = mmap(reinterpret_cast<void*>(at), length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                            static_cast<off_t>(begin));
  int result = -1;
  if (mapped != MAP_FAILED) {
    do {
      result = madvise(mapped, length, MADV_COLLAPSE);
    } while (result != 0 && errno == EINTR);
  }
  munmap(room, length + kHugePage);
  return result == 0;
}

}  // namespace holdfast::memory
