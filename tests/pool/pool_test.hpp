// pool_test.hpp: pools of one table, and edits of what a closed one has in its file.
#pragma once

#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "structures/gphash/table_object.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"
#include "support/folder.hpp"

namespace holdfast::pool {

using gphash::TableObject;
using gphash::TableShape;
using test::expect_error;
using test::Folder;
using test::in_child;

/// A shape with few slots and a small heap of 128-byte cells.
inline TableShape small_shape() {
  TableShape shape;
  shape.value_bytes = 128;
  shape.top_level = 8;
  shape.cells = 100;
  shape.seed = 42;
  return shape;
}

inline std::vector<char> read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline void write_all(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Changes a block that a closed pool has twice, in both copies, or in those of `copies`, and seals it again.
template <class Block>
void edit_copies(const std::string& path, std::uint64_t offset, const std::function<void(Block&)>& edit,
                 unsigned copies, bool sealed) {
  std::vector<char> bytes = read_all(path);
  for (unsigned copy = 0; copy < 2; ++copy) {
    if ((copies >> copy & 1) == 0) continue;
    Block block;
    std::memcpy(&block, bytes.data() + offset + copy * sizeof block, sizeof block);
    edit(block);
    if (sealed) seal(block);
    std::memcpy(bytes.data() + offset + copy * sizeof block, &block, sizeof block);
  }
  write_all(path, bytes);
}
inline void edit_superblock(const std::string& path, const std::function<void(Superblock&)>& edit, unsigned copies = 3,
                            bool sealed = true) {
  edit_copies(path, 0, edit, copies, sealed);
}
/// The same for the page of the first object.
inline void edit_page(const std::string& path, const std::function<void(ObjectPage&)>& edit, unsigned copies = 3,
                      bool sealed = true) {
  const Extent pages = read_pool(system::File::open(path, false)).directory.extents_of(1, kPagesRole).at(0);
  edit_copies(path, pages.offset, edit, copies, sealed);
}

/// Opens the one table of a pool.
inline std::unique_ptr<TableObject> open(const std::string& path, Access access = Access::read_write,
                                         bool salvage = false, bool flush = false) {
  auto pool = PoolFile::open(path, access);
  const auto directory = pool->directory();
  return TableObject::open(std::move(pool), directory->objects.at(0),
                           {.label = path, .flush = flush, .salvage = salvage});
}
/// Makes a pool with one table.
inline std::unique_ptr<TableObject> create(const std::string& path, const TableShape& shape = small_shape(),
                                           bool overwrite = false, bool flush = false) {
  NewPool pool(path, overwrite);
  auto table = TableObject::create(pool.pool(), "table", shape, {.label = path, .flush = flush});
  pool.publish();
  return table;
}
/// Makes a pool and closes it cleanly.
inline void create_closed(const std::string& path, const TableShape& shape = small_shape()) {
  create(path, shape)->sync();
}

/// What a pool says of its one table.
inline ObjectInfo inspect_table(const std::string& path) { return inspect(path).objects.at(0); }
/// How often a table's page was written.
inline std::uint64_t page_generation(const std::string& path) {
  const system::File file = system::File::open(path, false);
  return read_page(file, read_pool(file).directory.extents_of(1, kPagesRole).at(0)).page.generation;
}

}  // namespace holdfast::pool
