// step.hpp: each step of group hashing that the model can leave out, to show that its tests would notice. Rule 25.
#pragma once

#include <cstdint>

namespace holdfast::group {

enum class Step : std::uint8_t {
  // Corrections of the paper's pseudo-code.
  test_occupancy,   ///< a lookup believes a cell only if its bit is set (Algorithms 2 and 3 omit the test in places)
  search_first,     ///< an insert looks for its key before it takes a cell (Algorithm 1 does not)
  second_cell,      ///< an assignment of a value of several words writes a second cell
  clear_duplicate,  ///< recovery clears the second cell of an interrupted assignment
  lock_group,       ///< writers of a group exclude each other
  wait_for_writer,  ///< a reader does not begin while a writer holds the group
  validate_read,    ///< a reader repeats a search during which a writer came
  // Flushes, fences and orders.
  flush_cell,          ///< a cell is written back
  fence_after_cell,    ///< and durable before its bit is set
  flush_insert,        ///< the bit of an insert is written back
  fence_after_insert,  ///< and durable before the insert returns
  flush_erase,         ///< the cleared bit of an erase is written back
  fence_after_erase,   ///< and durable before the cell is reused
  flush_value,         ///< a value that is changed in place is written back
  fence_after_value,   ///< and durable before the assignment returns
  flush_new_bit,       ///< the bit of the second cell is written back
  fence_between_bits,  ///< and durable before the bit of the first cell is cleared in another word
  flush_old_bit,       ///< the cleared bit is written back
  fence_after_assign,  ///< and durable before the assignment returns
  flush_recovery,      ///< what recovery clears is written back
  fence_recovery,      ///< and durable before another operation begins
  flush_growth,        ///< the cells of a larger table are written back
  fence_growth,        ///< and durable before the directory names it
  count
};

}  // namespace holdfast::group
