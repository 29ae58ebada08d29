// items.hpp: what tables under test hold, in a form in which what is torn, lost or another key's is seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "holdfast/table.hpp"

namespace holdfast::proof {

/// Which version of its value each key has.
using Items = std::map<std::uint64_t, std::uint64_t>;

/// What a table must hold.
struct PoolState {
  Items items;
  bool synced = true;            ///< all of it survives a power cut
  unsigned made = 0;             ///< tells a table from the one that it replaces
  std::string description = {};  ///< Table::describe
  std::uint64_t step = 0;        ///< the largest that its changes were given; of a table with scores of steps
  bool operator==(const PoolState&) const = default;
};

/// How tables are made. With `value_bytes` kVariableBytes they have pairs of any length: of a key the number, of a value
/// 16 bytes or 16 KiB.
struct Tables {
  std::uint32_t value_bytes = 16;
  std::uint64_t capacity = 8;
  Score score = Score::none;
};

/// Puts keys first to last - 1, of this version; adds those that it did to `items`. Its statuses say which.
void put_items(Table& table, std::uint64_t first, std::uint64_t last, std::uint64_t version, Items& items);
void erase_items(Table& table, std::uint64_t first, std::uint64_t last, Items& items);
/// All items, as exported; adds what does not fit to `wrong`.
Items items_of(Table& table, std::string& wrong);
/// Says what is wrong unless each key is as in one or the other; if they are two tables, all keys as in one of them. Either may be null.
std::string compare(const Items& found, const PoolState* before, const PoolState* after);
/// Throws std::logic_error if `report` has errors.
void must_be_in_order(const CheckReport& report);

CreateOptions create_options(const Tables& tables, bool overwrite);
OpenOptions open_options();

}  // namespace holdfast::proof
