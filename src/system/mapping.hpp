// mapping.hpp: address space for parts of a pool. Nothing here survives a fork: the child has no such addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "system/file.hpp"
#include "system/pages.hpp"

namespace holdfast::system {

/// How parts of a file are mapped.
struct MapMode {
  bool writable = true;
  bool private_copy = false;  ///< writes stay in this process
  bool direct = false;        ///< medium dax: MAP_SYNC
  std::uint64_t granule = 4096;
  std::atomic<bool>* lost = nullptr;  ///< set when the medium does not give a page that it should have (bus_error.hpp)
};

/// Maps [offset, offset + bytes) of the file, all multiples of the granule, at `at`, which is reserved; or, if that is null,
/// at an address that leaves the same remainder as `offset` when divided by 2 MiB if the range is that large, so that huge pages
/// fit. `populate`: touches every page now. Throws SystemError, MediumError.
std::byte* map_file(const File& file, std::uint64_t offset, std::uint64_t bytes, const MapMode& mode, bool populate,
                    std::byte* at = nullptr);
/// The same for zeroed memory of this process alone.
std::byte* map_private(const File& file, std::uint64_t bytes, std::byte* at = nullptr);

/// Keeps `bytes` of address space, or half as often as it takes, but at least `least`; returns how many in `bytes`.
std::byte* reserve(const File& file, std::uint64_t& bytes, std::uint64_t least, std::uint64_t granule);
/// Changes a part of a reservation back into nothing but address space.
void unmap_into_reserve(std::byte* at, std::uint64_t bytes) noexcept;
void unmap(std::byte* at, std::uint64_t bytes) noexcept;

}  // namespace holdfast::system
