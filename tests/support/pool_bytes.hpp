// pool_bytes.hpp: the structures in the bytes of a pool, for tests that alter them: sealed again they lie, else they are damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "pool/directory.hpp"
#include "pool/object_page.hpp"
#include "pool/superblock.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast::test {

// Reading. The bytes may be those of any file: what they have not is zero, or not there.

pool::Superblock superblock_in(const std::string& bytes, unsigned copy = 0);
/// Of the area that copy A of the superblock names, whatever its checksum says; empty if its counts cannot be.
pool::Directory directory_in(const std::string& bytes);
/// Where the directory that counts begins, and its header, extents and objects end.
std::uint64_t area_in(const std::string& bytes);
std::uint64_t area_end_in(const std::string& bytes);
/// Where the first copy of an object's page begins; 0 if it has none in these bytes.
std::uint64_t page_in(const std::string& bytes, std::uint32_t object);

// Sealing: puts the right checksum into a structure, if the bytes hold all of it.

void seal_superblock(std::string& bytes, unsigned copy);
void seal_area(std::string& bytes);
void seal_page(std::string& bytes, std::uint64_t offset);

// Altering the structures that count, in both copies where there are two, and sealing them.

void edit_superblock(std::string& bytes, const std::function<void(pool::Superblock&)>& change);
void edit_area_header(std::string& bytes, const std::function<void(pool::AreaHeader&)>& change);
void edit_directory(std::string& bytes, const std::function<void(pool::Directory&)>& change);
void edit_page(std::string& bytes, std::uint32_t object, const std::function<void(pool::ObjectPage&)>& change);
void edit_table(std::string& bytes, std::uint32_t object, const std::function<void(gphash::TableHeader&)>& change);

}  // namespace holdfast::test
