// object_page.hpp: the frequently changed state of an object, in its two pages: its mark, and the header of its type. docs/format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pool/copies.hpp"
#include "pool/directory.hpp"
#include "system/file.hpp"

namespace holdfast::pool {

inline constexpr std::uint64_t kPageMagic = 0x5443'454a'424f'4648;  // "HFOBJECT", little endian
inline constexpr std::size_t kHeaderBytes = 512;
inline constexpr std::size_t kDescriptionBytes = 3072;

struct ObjectPage {
  std::uint64_t magic;
  std::uint64_t generation;  ///< grows with each write; the newer valid copy counts
  std::uint32_t number;      ///< of the object that it belongs to
  std::uint32_t clean;       ///< 1: closed or synced, and not changed since (rule 21)
  std::uint32_t domain;      ///< a holdfast::Domain: what writes survived when it was last changed (rule 9)
  std::uint32_t header_bytes;
  std::uint8_t boot_id[16];           ///< of the machine's run in which it was last changed
  std::uint8_t header[kHeaderBytes];  ///< of the object's type; zero behind header_bytes
  std::uint32_t description_bytes;
  std::uint8_t
      description[kDescriptionBytes];  ///< what the object's users say of its contents; zero behind description_bytes
  std::uint8_t reserved[452];          ///< zero
  std::uint64_t checksum;              ///< of all bytes before it
};
static_assert(sizeof(ObjectPage) == kPage);
static_assert(offsetof(ObjectPage, number) == 16 && offsetof(ObjectPage, clean) == 20);
static_assert(offsetof(ObjectPage, domain) == 24 && offsetof(ObjectPage, header_bytes) == 28);
static_assert(offsetof(ObjectPage, boot_id) == 32 && offsetof(ObjectPage, header) == 48);
static_assert(offsetof(ObjectPage, description_bytes) == 560 && offsetof(ObjectPage, description) == 564);
static_assert(offsetof(ObjectPage, reserved) == 3636 && offsetof(ObjectPage, checksum) == 4088);

bool is_intact(const ObjectPage& page);
/// What is wrong with the fields of an intact page; empty if nothing is. The header is its type's to check.
std::string flaw(const ObjectPage& page, std::uint32_t number);
/// The description of a page without a flaw.
std::string description_in(const ObjectPage& page);
bool is_of_this_boot(const ObjectPage& page);
/// Says of the object `label` that a power cut may have taken a part of its last changes.
[[noreturn]] void throw_power_lost(const std::string& label);

struct FoundPage {
  ObjectPage page = {};
  Choice choice;
  std::string damage;  ///< why there is none that counts; empty if there is one
};
/// Reads both copies of an object's page, which lie in its first extent.
FoundPage read_page(const system::File& file, const Extent& pages);
FoundPage choose_page(const ObjectPage& a, const ObjectPage& b, std::uint32_t number);

}  // namespace holdfast::pool
