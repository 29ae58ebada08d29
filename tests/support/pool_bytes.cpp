// pool_bytes.cpp: finds, alters and seals the structures in the bytes of a pool.
#include "support/pool_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/checksum.hpp"

namespace holdfast::test {
namespace {

using pool::AreaHeader;
using pool::kPage;
using pool::ObjectPage;
using pool::Superblock;

bool holds(const std::string& bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

template <class Structure>
Structure read_at(const std::string& bytes, std::uint64_t at) {
  Structure structure = {};
  if (holds(bytes, at, sizeof structure)) std::memcpy(&structure, bytes.data() + at, sizeof structure);
  return structure;
}

template <class Structure>
void write_at(std::string& bytes, std::uint64_t at, const Structure& structure) {
  if (holds(bytes, at, sizeof structure)) std::memcpy(bytes.data() + at, &structure, sizeof structure);
}

template <class Block>
void seal_block(std::string& bytes, std::uint64_t at) {
  if (!holds(bytes, at, sizeof(Block))) return;
  Block block = read_at<Block>(bytes, at);
  pool::seal(block);
  write_at(bytes, at, block);
}

/// The bytes of an area of which these are the counts; 0 if they cannot be.
std::uint64_t area_bytes(const AreaHeader& header) {
  if (header.extents > pool::kExtents || header.objects > pool::kObjects) return 0;
  return sizeof header + header.extents * sizeof(pool::Extent) + header.objects * sizeof(pool::ObjectEntry);
}

}  // namespace

Superblock superblock_in(const std::string& bytes, unsigned copy) {
  return read_at<Superblock>(bytes, copy * pool::kSuperblockBytes);
}

std::uint64_t area_in(const std::string& bytes) { return pool::area_offset(superblock_in(bytes).area & 1); }

std::uint64_t area_end_in(const std::string& bytes) {
  const std::uint64_t at = area_in(bytes);
  return at + area_bytes(read_at<AreaHeader>(bytes, at));
}

pool::Directory directory_in(const std::string& bytes) {
  const std::uint64_t at = area_in(bytes);
  const auto header = read_at<AreaHeader>(bytes, at);
  const std::uint64_t size = area_bytes(header);
  pool::Directory directory;
  if (size == 0 || !holds(bytes, at, size)) return directory;
  directory.generation = header.generation;
  directory.next_number = header.next_number;
  directory.extents.resize(header.extents);
  directory.objects.resize(header.objects);
  const std::uint64_t extent_bytes = header.extents * sizeof(pool::Extent);
  const char* const from = bytes.data() + at + sizeof header;
  if (header.extents != 0) std::memcpy(directory.extents.data(), from, extent_bytes);
  if (header.objects != 0)
    std::memcpy(directory.objects.data(), from + extent_bytes, size - extent_bytes - sizeof header);
  return directory;
}

std::uint64_t page_in(const std::string& bytes, std::uint32_t object) {
  const auto pages = directory_in(bytes).extents_of(object, pool::kPagesRole);
  return !pages.empty() && holds(bytes, pages[0].offset, 2 * kPage) ? pages[0].offset : 0;
}

void seal_superblock(std::string& bytes, unsigned copy) {
  seal_block<Superblock>(bytes, copy * pool::kSuperblockBytes);
}

void seal_area(std::string& bytes) {
  const std::uint64_t at = area_in(bytes);
  auto header = read_at<AreaHeader>(bytes, at);
  const std::uint64_t size = area_bytes(header);
  if (size == 0 || !holds(bytes, at, size)) return;
  header.checksum = 0;
  write_at(bytes, at, header);
  header.checksum = checksum(bytes.data() + at, size);
  write_at(bytes, at, header);
}

void seal_page(std::string& bytes, std::uint64_t offset) { seal_block<ObjectPage>(bytes, offset); }

void edit_superblock(std::string& bytes, const std::function<void(Superblock&)>& change) {
  Superblock block = superblock_in(bytes);
  change(block);
  for (unsigned copy = 0; copy < 2; ++copy) {
    write_at(bytes, copy * pool::kSuperblockBytes, block);
    seal_superblock(bytes, copy);
  }
}

void edit_area_header(std::string& bytes, const std::function<void(AreaHeader&)>& change) {
  const std::uint64_t at = area_in(bytes);
  auto header = read_at<AreaHeader>(bytes, at);
  change(header);
  write_at(bytes, at, header);
  seal_area(bytes);
}

void edit_directory(std::string& bytes, const std::function<void(pool::Directory&)>& change) {
  pool::Directory directory = directory_in(bytes);
  change(directory);
  const std::vector<std::byte> area = pool::encode(directory);
  std::memcpy(bytes.data() + area_in(bytes), area.data(), area.size());
}

void edit_page(std::string& bytes, std::uint32_t object, const std::function<void(ObjectPage&)>& change) {
  const std::uint64_t at = page_in(bytes, object);
  auto page = read_at<ObjectPage>(bytes, at);
  change(page);
  for (unsigned copy = 0; copy < 2; ++copy) {
    write_at(bytes, at + copy * kPage, page);
    seal_page(bytes, at + copy * kPage);
  }
}

void edit_table(std::string& bytes, std::uint32_t object, const std::function<void(gphash::TableHeader&)>& change) {
  edit_page(bytes, object, [&](ObjectPage& page) {
    gphash::TableHeader header;
    std::memcpy(&header, page.header, sizeof header);
    change(header);
    std::memcpy(page.header, &header, sizeof header);
  });
}

}  // namespace holdfast::test
