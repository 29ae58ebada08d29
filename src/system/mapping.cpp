// mapping.cpp: mmap, with its addresses chosen for huge pages and its failures explained.
#include "system/mapping.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "holdfast/error.hpp"
#include "system/bus_error.hpp"
#include "system/calls.hpp"
#include "system/pages.hpp"

namespace holdfast::system {

namespace {

[[noreturn]] void throw_map_error(const File& file, std::uint64_t bytes, int error) {
  const std::string message =
      system_message(file.path(), "cannot be mapped (" + std::to_string(bytes) + " bytes)", error);
  rlimit limit = {};
  if (error == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    throw SystemError(message + "; the limit on address space (ulimit -v) is " + std::to_string(limit.rlim_cur) +
                      " bytes: raise it");
  }
  if (error == ENODEV || error == EACCES || error == EPERM) throw MediumError(message + "; use another medium");
  throw SystemError(message);
}

/// Address space without memory, not counted against memory either. Null if there is not so much.
std::byte* try_reserve(std::uint64_t bytes) {
  void* const at = system::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

/// Reserves `bytes` at an address that leaves `rest` when divided by `unit`. Null if there is not so much.
std::byte* try_reserve_aligned(std::uint64_t bytes, std::uint64_t rest, std::uint64_t unit) {
  std::byte* const whole = try_reserve(bytes + unit);
  if (whole == nullptr) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(whole);
  const std::uint64_t before = (rest + unit - start % unit) % unit;
  if (before != 0) system::munmap(whole, before);
  system::munmap(whole + before + bytes, unit - before);
  return whole + before;
}

/// What every mapping of a pool gets: huge pages where they help, and no place in a forked child. Advice may be refused by an
/// older kernel or another medium; only speed is lost.
void advise(std::byte* at, std::uint64_t bytes, bool populate) {
  system::madvise(at, bytes, MADV_DONTFORK);
  if (bytes >= kHugePage) system::madvise(at, bytes, MADV_HUGEPAGE);
  if (populate) system::madvise(at, bytes, MADV_POPULATE_READ);
}

}  // namespace

std::byte* map_file(const File& file, std::uint64_t offset, std::uint64_t bytes, const MapMode& mode, bool populate,
                    std::byte* at) {
  const bool aligned = at == nullptr && bytes >= kHugePage;
  if (aligned) {
    const std::uint64_t unit = std::max(kHugePage, mode.granule);
    at = try_reserve_aligned(bytes, offset % unit, unit);
    if (at == nullptr) throw_map_error(file, bytes, errno);
  }
  int flags = mode.direct ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
  // Huge pages that were not reserved for a copy would end the process by SIGBUS; small ones are there as memory is.
  if (mode.private_copy) flags = mode.granule > kPage ? MAP_PRIVATE : MAP_PRIVATE | MAP_NORESERVE;
  if (at != nullptr) flags |= MAP_FIXED;
  void* const mapped = system::mmap(at, bytes, PROT_READ | (mode.writable ? PROT_WRITE : 0), flags, file.fd(), offset);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    if (aligned) unmap(at, bytes);
    throw_map_error(file, bytes, error);
  }
  if (mode.lost != nullptr) watch_bus_errors(static_cast<std::byte*>(mapped), bytes, mode.granule, *mode.lost);
  advise(static_cast<std::byte*>(mapped), bytes, populate);
  return static_cast<std::byte*>(mapped);
}

std::byte* map_private(const File& file, std::uint64_t bytes, std::byte* at) {
  void* const mapped =
      system::mmap(at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0), -1, 0);
  if (mapped == MAP_FAILED) throw_map_error(file, bytes, errno);
  advise(static_cast<std::byte*>(mapped), bytes, false);
  return static_cast<std::byte*>(mapped);
}

std::byte* reserve(const File& file, std::uint64_t& bytes, std::uint64_t least, std::uint64_t granule) {
  const std::uint64_t unit = std::max(kHugePage, granule);
  const auto rounded = [&](std::uint64_t size) { return std::max<std::uint64_t>((size + unit - 1) / unit, 1) * unit; };
  for (bytes = rounded(bytes);; bytes = rounded(std::max(bytes / 2, least))) {
    if (std::byte* const at = try_reserve_aligned(bytes, 0, unit); at != nullptr) {
      system::madvise(at, bytes, MADV_DONTFORK);
      return at;
    }
    if (bytes <= rounded(least)) throw_map_error(file, bytes, errno);
  }
}

void unmap_into_reserve(std::byte* at, std::uint64_t bytes) noexcept {
  end_bus_errors(at, bytes);
  static_cast<void>(system::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  system::madvise(at, bytes, MADV_DONTFORK);
}

void unmap(std::byte* at, std::uint64_t bytes) noexcept {
  if (at == nullptr || bytes == 0) return;
  end_bus_errors(at, bytes);
  system::munmap(at, bytes);
}

}  // namespace holdfast::system
