// script.hpp: what the callers of a modelled table do, and what is found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "structures/model/oracle.hpp"
#include "structures/model/world.hpp"

namespace holdfast::structures::model {

/// Each caller does its operations one after another. A scheme's Scenario derives from it, and says where its keys belong.
struct Script {
  std::string name;
  bool wide = false;              ///< items of 32 bytes
  std::vector<Operation> before;  ///< done before the callers begin
  std::vector<std::vector<Operation>> callers;
};

/// Flushes and fences of an operation.
struct Persists {
  std::uint64_t flushes, fences;
};

/// What crashes of one insert leave of a table: the paper's Figure 1. Numbers of images.
struct InsertLosses {
  std::uint64_t images = 0;
  std::uint64_t item_without_count = 0;  ///< case 1: the item is there, and the count is the old one
  std::uint64_t count_without_item = 0;  ///< case 2: the count is the new one, and the item is not there
  std::uint64_t torn_item = 0;           ///< case 3: a part of the item is there
};

}  // namespace holdfast::structures::model
