// step.hpp: each step of the logged forms that the model can leave out, to show that its tests would notice. Rule 25.
#pragma once

#include <cstdint>

namespace holdfast::cells {

enum class Step : std::uint8_t {
  search_first,     ///< an insert looks for its key before it takes a cell
  shift_back,       ///< an erase moves the items behind the emptied cell
  lock_table,       ///< writers exclude each other
  wait_for_writer,  ///< a reader does not begin while a writer is in the table
  validate_read,    ///< a reader repeats a search during which a writer came
  // Changes.
  state_last,   ///< an entry's state is stored behind its other words
  note_other,   ///< an entry names the empty cell that the change fills
  flush_entry,  ///< an entry is written back
  fence_entry,  ///< and durable before the cells change
  flush_cells,  ///< changed cells are written back
  flush_moved,  ///< and the cell that an item moved to, where it is in another line
  fence_cells,  ///< and durable before the entry is void
  flush_void,   ///< the void entry is written back
  fence_void,   ///< and durable before the call returns
  note_hole,    ///< an erase that has more items to move leaves the number of the empty cell
  note_clear,   ///< an entry says that every cell is emptied
  flush_clear,  ///< the emptied cells are written back
  fence_clear,  ///< and durable before that entry is void
  // Recovery.
  undo,            ///< recovery restores the cell that an entry names
  undo_other,      ///< and empties the other one
  undo_count,      ///< and restores the count
  flush_undo,      ///< what it restored is written back
  fence_undo,      ///< and durable before the entry is void
  continue_shift,  ///< recovery moves the items that an interrupted erase left
  // Growth.
  flush_growth,  ///< the cells of a larger table are written back
  fence_growth,  ///< and durable before the directory names it
  count
};

}  // namespace holdfast::cells
