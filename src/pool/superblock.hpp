// superblock.hpp: the first pages of a pool: what it is, and which directory counts. docs/format.md, rule 20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pool/copies.hpp"
#include "system/pages.hpp"

namespace holdfast::pool {

inline constexpr std::uint64_t kMagic = 0x5453'4146'444c'4f48;  // "HOLDFAST", little endian
inline constexpr std::uint32_t kVersion = 5;  // the only one: 1 to 4 were never released, and are refused by name
using system::kPage;                          // offsets and sizes of extents are multiples of it
inline constexpr std::uint64_t kSuperblockBytes = kPage;             // each of the two copies
inline constexpr std::uint64_t kOwnerOffset = 2 * kSuperblockBytes;  // a page for the owner's note
inline constexpr std::uint64_t kFirstArea = 3 * kPage;               // the two directory areas follow (directory.hpp)

/// What a pool is, and which directory counts. Each copy is one page.
struct Superblock {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t area;        ///< the directory area that counts, 0 or 1
  std::uint64_t generation;  ///< grows with each commit; the directory that counts has the same
  std::uint8_t pool_id[16];  ///< random
  std::uint64_t created;     ///< seconds since 1970
  // Kept for the journal; zero until there is one.
  std::uint8_t store_id[16];
  std::uint8_t history_id[16];
  std::uint64_t last_lsn;
  std::uint8_t reserved[4000];  ///< zero
  std::uint64_t checksum;       ///< of all bytes before it
};
static_assert(sizeof(Superblock) == kSuperblockBytes);
static_assert(offsetof(Superblock, version) == 8 && offsetof(Superblock, area) == 12);
static_assert(offsetof(Superblock, generation) == 16 && offsetof(Superblock, pool_id) == 24);
static_assert(offsetof(Superblock, created) == 40 && offsetof(Superblock, store_id) == 48);
static_assert(offsetof(Superblock, history_id) == 64 && offsetof(Superblock, last_lsn) == 80);
static_assert(offsetof(Superblock, reserved) == 88 && offsetof(Superblock, checksum) == 4088);

/// True if the magic number and the checksum are right. Says nothing of the fields: see `flaw`.
bool is_intact(const Superblock& block);

/// What is wrong with the fields of an intact superblock; empty if nothing is. A pool may come from an untrusted source.
std::string flaw(const Superblock& block);

}  // namespace holdfast::pool
