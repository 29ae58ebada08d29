// layout_test.cpp: what a page and a directory may say of a table is verified before anything relies on it.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "structures/group/form.hpp"
#include "structures/linear/linear_form.hpp"

namespace holdfast::structures {
namespace {

constexpr pool::Extent kPages{479232, 8192, 1, pool::kPagesRole, 0};

std::string flaw_in_layout(const StructureKind& kind, const Header& header, const pool::Extent& extent,
                           std::uint32_t header_bytes) {
  pool::ObjectPage page = {};
  page.header_bytes = header_bytes;
  std::memcpy(page.header, &header, sizeof header);
  pool::Directory directory;
  directory.extents = {kPages, extent};
  Stored stored;
  return kind.read_stored(directory, 1, page, stored);
}

TEST(StructureLayout, OfGroupsIsVerified) {
  const Header header{7, 16, 64, 0, 0};
  const pool::Extent extent{487424, 12288, 1, kCellsRole, 2};  // 4 groups of 2112 bytes
  const auto flaw = [](const Header& its, const pool::Extent& of, std::uint32_t header_bytes = sizeof(Header)) {
    return flaw_in_layout(group::kind(), its, of, header_bytes);
  };
  EXPECT_EQ(flaw(header, extent), "");
  EXPECT_NE(flaw(header, extent, 24), "");
  EXPECT_NE(flaw({7, 24, 64, 0, 0}, extent), "");
  EXPECT_NE(flaw({7, 16, 96, 0, 0}, extent), "");
  EXPECT_NE(flaw({7, 16, 32, 0, 0}, extent), "");
  EXPECT_NE(flaw({7, 16, 2048, 0, 0}, extent), "");
  EXPECT_NE(flaw({7, 16, 64, 0, 1}, extent), "");
  EXPECT_NE(flaw({7, 32, 64, 0, 0}, extent), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 3}), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 39}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 64}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, 2, 2}), "") << "an extent of another role";
}

TEST(StructureLayout, OfCellsIsVerified) {
  const Header header{7, 16, 0, 0, 0};
  const pool::Extent extent{487424, 12288, 1, kCellsRole, 9};  // 512 cells: 8,320 bytes
  const auto flaw = [](const Header& its, const pool::Extent& of) {
    return flaw_in_layout(linear::logged_kind(), its, of, sizeof(Header));
  };
  EXPECT_EQ(flaw(header, extent), "");
  EXPECT_NE(flaw({7, 24, 0, 0, 0}, extent), "");
  EXPECT_NE(flaw({7, 16, 64, 0, 0}, extent), "") << "it has no groups";
  EXPECT_NE(flaw({7, 16, 0, 0, 1}, extent), "");
  EXPECT_NE(flaw({7, 32, 0, 0, 0}, extent), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 10}), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 3}), "") << "fewer cells than a table has";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 40}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 64}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, 2, 9}), "") << "an extent of another role";
}

}  // namespace
}  // namespace holdfast::structures
