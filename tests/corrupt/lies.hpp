// lies.hpp: what a pool made to mislead may say, field by field, with checksums that are right.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test::corrupt {

/// One wrong thing told by objects().
struct Lie {
  std::string text;      ///< of the error
  std::uint32_t victim;  ///< the number of the object that it damages; 0: the pool
  std::function<void(std::string& bytes)> tell;
};

std::vector<Lie> lies_of_superblock();
std::vector<Lie> lies_of_directory();  ///< its header, extents and objects
std::vector<Lie> lies_of_pages();      ///< of objects, and the headers of tables
/// Of one table's extents, each right by itself.
std::vector<Lie> lies_of_shapes();

}  // namespace holdfast::test::corrupt
