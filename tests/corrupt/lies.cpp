// lies.cpp: the wrong things, and the words that each must be refused with.
#include "lies.hpp"

#include <algorithm>
#include <cstring>

#include "fixture.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test::corrupt {
namespace {

using gphash::TableHeader;
using pool::AreaHeader;
using pool::Directory;
using pool::Extent;
using pool::kPage;
using pool::ObjectEntry;
using pool::ObjectPage;
using pool::Superblock;

constexpr std::uint64_t kHuge = ~std::uint64_t{0} - kPage + 1;

Lie in_superblock(std::string text, std::function<void(Superblock&)> change) {
  return {std::move(text), 0, [change](std::string& bytes) { edit_superblock(bytes, change); }};
}

Lie in_header(std::string text, std::function<void(AreaHeader&)> change) {
  return {std::move(text), 0, [change](std::string& bytes) { edit_area_header(bytes, change); }};
}

Lie in_directory(std::string text, std::function<void(Directory&)> change, std::uint32_t victim = 0) {
  return {std::move(text), victim, [change](std::string& bytes) { edit_directory(bytes, change); }};
}

Lie in_page(std::string text, std::uint32_t object, std::function<void(ObjectPage&)> change) {
  return {std::move(text), object, [=](std::string& bytes) { edit_page(bytes, object, change); }};
}

Lie in_table(std::string text, std::uint32_t object, std::function<void(TableHeader&)> change) {
  return {std::move(text), object, [=](std::string& bytes) { edit_table(bytes, object, change); }};
}

/// The `which`th extent of an object with a role.
Extent& extent_of(Directory& directory, std::uint32_t object, std::uint16_t role, std::size_t which = 0) {
  return *directory.find_extent(object, role, directory.extents_of(object, role).at(which).index);
}

Lie in_extent(std::string text, std::function<void(Extent&)> change) {
  return in_directory(std::move(text), [change](Directory& d) { change(extent_of(d, kWide, gphash::kLevelRole)); });
}

ObjectEntry& wide_entry(Directory& directory) {
  return *std::find_if(directory.objects.begin(), directory.objects.end(),
                       [](const auto& entry) { return entry.number == kWide; });
}

Lie in_entry(std::string text, std::function<void(ObjectEntry&)> change) {
  return in_directory(std::move(text), [change](Directory& d) { change(wide_entry(d)); });
}

Lie in_name(std::string text, const std::string& name) {
  return in_entry(std::move(text), [name](ObjectEntry& entry) {
    std::memset(entry.name, 0, sizeof entry.name);
    std::memcpy(entry.name, name.data(), std::min(name.size(), sizeof entry.name));
    entry.name_bytes = static_cast<std::uint32_t>(name.size());
  });
}

/// A change of one table's extents, which belong to nobody else.
Lie in_shape(std::string text, std::uint32_t object, std::function<void(Directory&)> change) {
  return in_directory(std::move(text), std::move(change), object);
}

void erase_extent(Directory& directory, std::uint32_t object, std::uint16_t role, std::size_t which) {
  const Extent gone = extent_of(directory, object, role, which);
  std::erase(directory.extents, gone);
}

/// The gap that the dropped object left becomes a piece of a heap.
void add_piece(Directory& directory, std::uint32_t object, std::uint16_t index) {
  directory.add({pool::kFirstExtent, kPage, object, gphash::kHeapRole, index});
}

}  // namespace

std::vector<Lie> lies_of_superblock() {
  return {
      in_superblock("is not a pool", [](Superblock& s) { s.magic ^= 1; }),
      in_superblock("format 0, which there is not", [](Superblock& s) { s.version = 0; }),
      in_superblock("of format 4, which was retired", [](Superblock& s) { s.version = 4; }),
      in_superblock("of format 6; this Holdfast knows format 5", [](Superblock& s) { s.version = 6; }),
      in_superblock("of format 4294967295", [](Superblock& s) { s.version = ~0u; }),
      in_superblock("directory area 2", [](Superblock& s) { s.area = 2; }),
      in_superblock("directory area", [](Superblock& s) { s.area = ~0u; }),
      in_superblock("its directory is", [](Superblock& s) { s.area ^= 1; }),
      in_superblock("generation 0", [](Superblock& s) { s.generation = 0; }),
      in_superblock("generation", [](Superblock& s) { s.generation = ~std::uint64_t{0}; }),
      in_superblock("its directory is of generation", [](Superblock& s) { ++s.generation; }),
      in_superblock("its directory is of generation", [](Superblock& s) { --s.generation; }),
      in_superblock("reserved", [](Superblock& s) { s.store_id[15] = 1; }),
      in_superblock("reserved", [](Superblock& s) { s.history_id[0] = 1; }),
      in_superblock("reserved", [](Superblock& s) { s.last_lsn = 1; }),
      in_superblock("reserved", [](Superblock& s) { s.reserved[0] = 1; }),
      in_superblock("reserved", [](Superblock& s) { s.reserved[sizeof s.reserved - 1] = 1; }),
  };
}

std::vector<Lie> lies_of_directory() {
  return {
      in_header("directory is damaged", [](AreaHeader& h) { h.magic ^= 1; }),
      in_header("of generation", [](AreaHeader& h) { ++h.generation; }),
      in_header("directory is damaged", [](AreaHeader& h) { h.extents = pool::kExtents + 1; }),
      in_header("directory is damaged", [](AreaHeader& h) { h.extents = ~0u; }),
      in_header("directory is damaged", [](AreaHeader& h) { h.objects = pool::kObjects + 1; }),
      in_header("directory is damaged", [](AreaHeader& h) { h.objects = ~0u; }),
      in_header("is", [](AreaHeader& h) { ++h.extents; }),
      in_header("object 0", [](AreaHeader& h) { ++h.objects; }),
      in_header("which is not there", [](AreaHeader& h) { --h.objects; }),
      in_header("is out of order", [](AreaHeader& h) { h.next_number = kOptional; }),
      in_header("would have number 0", [](AreaHeader& h) { h.next_number = 0; }),
      in_header("would have number 0", [](AreaHeader& h) { h.next_number = h.extents = h.objects = 0; }),
      in_header("reserved", [](AreaHeader& h) { h.reserved[0] = 1; }),
      in_header("reserved", [](AreaHeader& h) { h.reserved[6] = 1; }),
      in_extent("begins at byte 0", [](Extent& e) { e.offset = 0; }),
      in_extent("begins at byte 479", [](Extent& e) { e.offset = pool::kFirstExtent - 1; }),
      in_extent("begins at byte", [](Extent& e) { e.offset += 8; }),
      in_extent("beyond the end", [](Extent& e) { e.offset = kHuge; }),
      in_extent("overlaps another", [](Extent& e) { e.offset += kPage; }),
      in_extent("overlaps another", [](Extent& e) { e.offset -= kPage; }),
      in_extent("has 0 bytes", [](Extent& e) { e.bytes = 0; }),
      in_extent("bytes", [](Extent& e) { e.bytes -= 8; }),
      in_extent("overlaps another", [](Extent& e) { e.bytes += kPage; }),
      in_extent("beyond the end", [](Extent& e) { e.bytes = kHuge; }),
      in_extent("is of object 1, which is not there", [](Extent& e) { e.object = 1; }),
      in_extent("is of object 0, which is not there", [](Extent& e) { e.object = 0; }),
      in_extent("is of object 4294967295", [](Extent& e) { e.object = ~0u; }),
      in_extent("is there twice", [](Extent& e) { ++e.index; }),
      in_extent("is there twice", [](Extent& e) { e.role = pool::kPagesRole, e.index = 0; }),
      in_extent("no object pages", [](Extent& e) { e.role = pool::kPagesRole, e.index = 1; }),
      in_directory("overlaps another", [](Directory& d) { std::swap(d.extents[3], d.extents[4]); }),
      in_directory("is there twice",
                   [](Directory& d) {
                     Extent again = d.extents.back();
                     again.offset = pool::kFirstExtent;  // where the dropped object was
                     d.extents.insert(d.extents.begin(), again);
                   }),
      in_directory("has no object pages", [](Directory& d) { erase_extent(d, kWide, pool::kPagesRole, 0); }),
      in_directory("has no object pages", [](Directory& d) { extent_of(d, kWide, pool::kPagesRole).index = 1; }),
      in_directory("has no object pages", [](Directory& d) { extent_of(d, kWide, pool::kPagesRole).bytes = kPage; }),
      in_directory("which is not there", [](Directory& d) { d.objects.erase(d.objects.begin() + 2); }),
      in_directory("is out of order", [](Directory& d) { std::swap(d.objects[2], d.objects[3]); }),
      in_directory("is out of order", [](Directory& d) { d.objects[3] = d.objects[2]; }),
      in_directory("a name that another has",
                   [](Directory& d) {
                     std::memcpy(d.objects[3].name, d.objects[2].name, sizeof d.objects[3].name);
                     d.objects[3].name_bytes = d.objects[2].name_bytes;
                   }),
      in_entry("is out of order", [](ObjectEntry& e) { e.number = 0; }),
      in_entry("is out of order", [](ObjectEntry& e) { e.number = kScored; }),
      in_entry("is out of order", [](ObjectEntry& e) { e.number = ~0u; }),
      in_entry("a name of 64 bytes", [](ObjectEntry& e) { e.name_bytes = 64; }),
      in_entry("a name of 4294967295 bytes", [](ObjectEntry& e) { e.name_bytes = ~0u; }),
      in_entry("reserved", [](ObjectEntry& e) { e.reserved[0] = 1; }),
      in_entry("reserved", [](ObjectEntry& e) { e.reserved[31] = 1; }),
      in_entry("reserved", [](ObjectEntry& e) { e.name[63] = 'x'; }),
      in_entry("reserved", [](ObjectEntry& e) { --e.name_bytes; }),
      in_entry("control character", [](ObjectEntry& e) { ++e.name_bytes; }),
      in_name("is empty", ""),
      in_name("a '/' in it", "a/b"),
      in_name("a ':' in it", "pool:b"),
      in_name("control character", "a\nb"),
      in_name("control character", std::string("a\0b", 3)),
      in_name("control character", "a\x7f"),
      in_name("control character", "a\xc2\x85"),  // one of those beyond ASCII
      in_name("is no UTF-8", "a\xff"),
      in_name("is no UTF-8", "a\xc3"),     // cut short
      in_name("is no UTF-8", "\xbc"),      // begins in the middle
      in_name("is no UTF-8", "\xc0\xaf"),  // a '/' written too long
      in_name("is no UTF-8", "\xe0\x80\xaf"),
      in_name("is no UTF-8", "\xe0\x82\xa9"),
      in_name("is no UTF-8", "\xf0\x82\x82\xac"),
      in_name("is no UTF-8", "\xed\xa0\x80"),      // half of a pair of UTF-16
      in_name("is no UTF-8", "\xf4\x90\x80\x80"),  // beyond the last character
      in_name("is no UTF-8", std::string(62, 'a') + "\xc3"),
  };
}

std::vector<Lie> lies_of_pages() {
  const std::uint64_t kMoreThanTheHeapMayHave = gphash::kMaxHeapBytes + kPage;
  return {
      in_page("both copies of its page are damaged", kWide, [](ObjectPage& p) { p.magic ^= 1; }),
      in_page("generation 0", kWide, [](ObjectPage& p) { p.generation = 0; }),
      in_page("generation", kWide, [](ObjectPage& p) { p.generation = ~std::uint64_t{0}; }),
      in_page("that of object 5", kWide, [](ObjectPage& p) { p.number = kScored; }),
      in_page("that of object 0", kUnknown, [](ObjectPage& p) { p.number = 0; }),
      in_page("clean mark is 2", kWide, [](ObjectPage& p) { p.clean = 2; }),
      in_page("clean mark", kUnknown, [](ObjectPage& p) { p.clean = ~0u; }),
      in_page("domain is 3", kWide, [](ObjectPage& p) { p.domain = 3; }),
      in_page("header has 513 bytes", kWide, [](ObjectPage& p) { p.header_bytes = pool::kHeaderBytes + 1; }),
      in_page("header has 4294967295 bytes", kWide, [](ObjectPage& p) { p.header_bytes = ~0u; }),
      in_page("header has 64 bytes", kWide, [](ObjectPage& p) { p.header_bytes = sizeof(TableHeader) + 8; }),
      in_page("reserved", kWide, [](ObjectPage& p) { p.header_bytes = 48; }),
      in_page("reserved", kWide, [](ObjectPage& p) { p.header[sizeof(TableHeader)] = 1; }),
      in_page("reserved", kWide, [](ObjectPage& p) { p.header[pool::kHeaderBytes - 1] = 1; }),
      in_page("reserved", kWide, [](ObjectPage& p) { p.reserved[0] = 1; }),
      in_page("reserved", kUnknown, [](ObjectPage& p) { p.reserved[sizeof p.reserved - 1] = 1; }),
      in_table("keys of 20 bytes", kWide, [](TableHeader& h) { h.key_bytes = 20; }),
      in_table("keys of 0 bytes", kWide, [](TableHeader& h) { h.key_bytes = 0; }),
      in_table("keys of 136 bytes", kWide, [](TableHeader& h) { h.key_bytes = 136; }),
      in_table("has 4096 bytes", kNumbers, [](TableHeader& h) { h.key_bytes = 128; }),
      in_table("values of", kWide, [](TableHeader& h) { h.key_bytes = gphash::kVariable; }),
      in_table("values of 65537 bytes", kWide, [](TableHeader& h) { h.value_bytes = 65537; }),
      in_table("values of", kWide, [](TableHeader& h) { h.value_bytes = gphash::kVariable; }),
      in_table("cells of 0 bytes", kWide, [](TableHeader& h) { h.value_bytes = 9; }),
      in_table("0 levels", kWide, [](TableHeader& h) { h.levels = 0; }),
      in_table("6 levels", kWide, [](TableHeader& h) { h.levels = 6; }),
      in_table("levels and needs", kWide, [](TableHeader& h) { h.levels = 4, h.hash_locations = 1; }),
      in_table("0 hash locations", kWide, [](TableHeader& h) { h.hash_locations = 0; }),
      in_table("hash locations", kWide, [](TableHeader& h) { h.hash_locations = 1u << 31; }),
      in_table("0 slots a bucket", kWide, [](TableHeader& h) { h.slots = 0; }),
      in_table("slots a bucket", kWide, [](TableHeader& h) { h.slots = ~0u; }),
      in_table("candidate slots", kWide, [](TableHeader& h) { h.slots = 9; }),
      in_table("scores of kind 4", kScored, [](TableHeader& h) { h.score = 4; }),
      in_table("scores of kind 4294967295", kScored, [](TableHeader& h) { h.score = ~0u; }),
      in_table("cells of", kScored, [](TableHeader& h) { h.score = 0; }),
      in_table("cells of", kWide, [](TableHeader& h) { h.score = 1; }),
      in_table("cells of 48 bytes", kCells, [](TableHeader& h) { h.cell_bytes = 48; }),
      in_table("cells of 0 bytes", kCells, [](TableHeader& h) { h.cell_bytes = 0; }),
      in_table("cells of", kWide, [](TableHeader& h) { h.cell_bytes = 8; }),
      in_table("at most 4097", kWide, [](TableHeader& h) { h.max_bytes = 4097; }),
      in_table("at most", kWide, [=](TableHeader& h) { h.max_bytes = kMoreThanTheHeapMayHave; }),
      in_table("a heap that it does not need", kCells, [](TableHeader& h) { h.value_bytes = 8, h.cell_bytes = 0; }),
  };
}

std::vector<Lie> lies_of_shapes() {
  using gphash::kHeapRole;
  using gphash::kLevelRole;
  return {
      in_shape("a table of version 0, which there is not", kWide, [](Directory& d) { wide_entry(d).type_version = 0; }),
      in_shape("extents that no table has", kWide, [](Directory& d) { extent_of(d, kWide, kLevelRole, 1).role = 7; }),
      in_shape("a heap that it does not need", kWide, [](Directory& d) { add_piece(d, kWide, 0); }),
      in_shape("no reserved-key slot", kWide,
               [](Directory& d) { extent_of(d, kWide, pool::kPagesRole).bytes = 2 * kPage; }),
      in_shape("1 levels and needs 2", kWide, [](Directory& d) { erase_extent(d, kWide, kLevelRole, 1); }),
      in_shape("is missing", kWide, [](Directory& d) { extent_of(d, kWide, kLevelRole, 0).index = 0; }),
      in_shape("is missing", kWide, [](Directory& d) { extent_of(d, kWide, kLevelRole, 1).index = 40; }),
      in_shape("has a level 41", kWide, [](Directory& d) { extent_of(d, kWide, kLevelRole, 1).index = 41; }),
      in_shape("has a level 65535", kWide, [](Directory& d) { extent_of(d, kWide, kLevelRole, 1).index = 65535; }),
      in_shape("level 21 has 4096 bytes", kWide,
               [](Directory& d) {
                 for (const std::size_t which : {1, 0}) extent_of(d, kWide, kLevelRole, which).index += 20;
               }),
      in_shape("piece 0 of its heap is missing", kCells,
               [](Directory& d) { extent_of(d, kCells, kHeapRole).index = 1; }),
      in_shape("piece 1 of its heap is missing", kCells, [](Directory& d) { add_piece(d, kCells, 2); }),
      {"larger than it may be", kCells,
       [](std::string& bytes) {
         edit_directory(bytes, [](Directory& d) { add_piece(d, kCells, 1); });
         edit_table(bytes, kCells, [](TableHeader& h) { h.max_bytes = kPage; });
       }},
  };
}

}  // namespace holdfast::test::corrupt
