// run_state.hpp: what the operations of a run make of their key, one after the other, before anything of it is durable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/combine.hpp"
#include "core/failpoint.hpp"
#include "core/operations.hpp"
#include "structures/gphash/protocol/added_group.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/rows.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

/// The frequency `before`, and so many changes more.
HOLDFAST_BOTH constexpr std::uint64_t more_frequent(std::uint64_t before, std::uint64_t changes) {
  return before + changes < before ? ~std::uint64_t{0} : before + changes;
}

/// The value that a key would have after the operations evaluated so far.
enum class Source : std::uint8_t { absent, pool, row, fresh };

template <class Tile, class Memory, class Shape>
class RunState {
  static_assert(OperationTile<Tile, Memory, Shape>);
  using Kind = ItemKindOf<Shape>;
  static constexpr bool kColumns = Memory::kColumns && Kind::kHasColumns;

 public:
  HOLDFAST_BOTH RunState(const Tile& tile, const Memory& memory, const View<Shape>& view, const Rows& rows,
                         const Permits& permits, const Item& old)
      : tile_(tile),
        memory_(memory),
        view_(view),
        rows_(rows),
        permits_(permits),
        old_(old),
        source_(old ? Source::pool : Source::absent),
        word_(old.word) {}

  /// One operation. False: a cell or other memory is needed for it and there is none; evaluation has not changed the pool.
  HOLDFAST_BOTH bool evaluate(std::size_t row) {
    const Op op = rows_.op_of(row);
    const bool was_there = source_ != Source::absent;
    Status status = status_of(op, was_there);
    switch (act_of(op, was_there)) {
      case Act::keeps: break;
      case Act::sets:
        if (!(was_there ? replace(row, status) : add(row, status))) return false;
        break;
      case Act::combines:
        if (!combine(Kind{}, row, was_there, status)) return false;
        break;
      case Act::removes:
        source_ = Source::absent;
        writes_ = 0;
        goes_on_ = false;
        break;
    }
    if (status == Status::inserted || status == Status::updated) ++writes_;
    if (reads_value(op) && !read(Kind{}, row)) return false;
    tile_.once([&] {
      if (rows_.statuses) rows_.statuses[row] = status;
      if (rows_.found) rows_.found[row] = was_there;
      return 0;
    });
    return true;
  }

  HOLDFAST_BOTH Source source() const { return source_; }
  /// Where the source is a row.
  HOLDFAST_BOTH std::size_t row() const { return row_; }

  /// The word to commit: a value that fits a slot, or 1 + a fresh cell with the value in it, which is `value` and not durable. False: no
  /// cell.
  HOLDFAST_BOTH bool write(const Candidates<Shape>& candidates, std::uint64_t& word, Written& value) {
    return write(Kind{}, candidates, word, value);
  }
  /// The same, and waits until the value is durable.
  HOLDFAST_BOTH bool place(const Candidates<Shape>& candidates, std::uint64_t& word) {
    Written value;
    return write(candidates, word, value) && (make_durable(value), true);
  }
  HOLDFAST_BOTH void make_durable(const Written& value) const {
    if (value.bytes == 0) return;
    if (memory_.keeps(Step::flush_value)) memory_.flush(value.begin, value.bytes);
    if (memory_.keeps(Step::fence_after_place)) memory_.fence();
    HOLDFAST_FAILPOINT(value_placed);
  }

  /// The fresh cell now belongs to a slot.
  HOLDFAST_BOTH void keep_cell() {
    has_cell_ = false;
    if (!memory_.keeps(Step::score_before_commit)) place_score();
  }
  /// Gives a fresh cell back that no slot ever named.
  HOLDFAST_BOTH void drop_cell() {
    if (has_cell_) tile_.once([&] { return Kind::give_back(memory_, cell_), 0; });
    has_cell_ = false;
  }

 private:
  HOLDFAST_BOTH bool write(ItemKind<false>, const Candidates<Shape>&, std::uint64_t& word, Written& value) {
    if constexpr (kColumns) {
      if (rows_.partial && source_ == Source::row && !make_whole()) return false;
    }
    if (view_.in_slot()) {
      word = source_ == Source::row ? row_word(row_) : word_;
      return true;
    }
    if (!take_cell()) return false;
    if (source_ == Source::row) tile_.write_cell(memory_, view_.cell(cell_), rows_.value(row_), rows_.value_bytes);
    if (memory_.keeps(Step::score_before_commit)) place_score();
    value = {view_.cell(cell_), view_.cell_bytes};
    word = cell_ + 1;
    return true;
  }
  /// The score of what the run leaves, behind the value in the fresh cell.
  HOLDFAST_BOTH void place_score() {
    if (!view_.scored()) return;
    tile_.once([&] { return memory_.store_value(view_.score_of(cell_), score()), 0; });
  }
  HOLDFAST_BOTH std::uint64_t score() const {
    if (view_.score != Score::frequency) return rows_.score;
    const std::uint64_t before = old_ && goes_on_ ? memory_.load_value(view_.score_of(old_.word - 1)) : 0;
    return more_frequent(before, writes_);
  }

  /// A pair of any length in a fresh cell of its class.
  HOLDFAST_BOTH bool write(ItemKind<true>, const Candidates<Shape>& candidates, std::uint64_t& word, Written& written) {
    const bool adds_key = !old_;
    const Part key = candidates.key(), value = rows_.value_part(row_);
    const std::uint32_t bytes = pair_bytes(key.size, value.size);
    const std::uint64_t pair = tile_.once([&] { return memory_.take_pair(view_, bytes, adds_key); });
    if (pair == 0) return false;
    cell_ = word = pair;
    has_cell_ = true;
    std::byte* const cell = view_.heap + heap::CellWord{pair}.begin();
    const PairHeader header = header_of(key, value);
    tile_.write_pair(memory_, cell, header, key, value);
    written = {cell, bytes};
    return true;
  }

  /// False: no memory.
  HOLDFAST_BOTH bool read(ItemKind<true>, std::size_t row) {
    if (rows_.blobs == nullptr || source_ == Source::absent) return true;
    const Part from = source_ == Source::row ? rows_.value_part(row_) : pair_at(memory_, view_, old_.word).value;
    if constexpr (NotesReads<Memory>) {
      tile_.once([&] { return rows_.blobs[row] = {from.data, from.size}, 0; });
    } else {
      std::byte* const to = memory_.take_bytes(*rows_.arena, from.size);
      if (to == nullptr) return false;
      if (source_ == Source::row) {
        tile_.copy(to, from.data, from.size);
      } else {
        tile_.read_cell(memory_, to, from.data, from.size);
      }
      rows_.blobs[row] = {to, from.size};
    }
    return true;
  }

  HOLDFAST_BOTH std::uint64_t row_word(std::size_t row) const {
    return load_bytes(rows_.value(row), rows_.value_bytes);
  }

  // False: a cell is needed and there is none.
  HOLDFAST_BOTH bool add(std::size_t row, Status& status) {
    if (!permits_.new_key) status = Status::no_space;
    return !permits_.new_key || set_row(row);
  }
  HOLDFAST_BOTH bool replace(std::size_t row, Status& status) {
    const bool may = permits_.new_value || view_.in_slot();
    if (!may) status = Status::no_space;
    return !may || set_row(row);
  }
  HOLDFAST_BOTH bool set_row(std::size_t row) {
    if constexpr (kColumns) {
      if (rows_.partial) return set_column(row);
    }
    source_ = Source::row;
    row_ = row;
    return true;
  }

  /// `add` of the row times the scale.
  HOLDFAST_BOTH bool add_scaled(std::size_t row, Status& status) {
    if (!permits_.new_key || rows_.scale == 1) return add(row, status);
    Combining alone = rows_.combining();
    alone.alone = true;
    if constexpr (kColumns) {
      if (rows_.partial) return combine_column(row, alone);
    }
    if (view_.in_slot()) {
      word_ = combine_word(0, row_word(row), alone);
    } else if (!take_cell()) {
      return false;
    } else {
      tile_.combine_cell(memory_, view_.cell(cell_), rows_.value(row), rows_.value_bytes, alone);
    }
    source_ = Source::fresh;
    return true;
  }

  HOLDFAST_BOTH bool combine(ItemKind<false>, std::size_t row, bool was_there, Status& status) {
    return was_there ? combine(row, status) : add_scaled(row, status);
  }
  HOLDFAST_BOTH static bool combine(ItemKind<true>, std::size_t, bool, Status&) {
    return true;
  }  // refused before it runs
  HOLDFAST_BOTH bool combine(std::size_t row, Status& status) {
    if (!permits_.new_value && !view_.in_slot()) {
      status = Status::no_space;
      return true;
    }
    if constexpr (kColumns) {
      if (rows_.partial) return combine_column(row, rows_.combining());
    }
    if (view_.in_slot()) {
      const std::uint64_t now = source_ == Source::row ? row_word(row_) : word_;
      word_ = combine_word(now, row_word(row), rows_.combining());
      source_ = Source::fresh;
      return true;
    }
    if (!take_cell()) return false;
    std::byte* const fresh = view_.cell(cell_);
    if (source_ == Source::row) tile_.write_cell(memory_, fresh, rows_.value(row_), rows_.value_bytes);
    if (source_ == Source::pool) tile_.copy_cell(memory_, fresh, view_.cell(old_.word - 1), rows_.value_bytes);
    tile_.combine_cell(memory_, fresh, rows_.value(row), rows_.value_bytes, rows_.combining());
    source_ = Source::fresh;
    return true;
  }

  // A column: the value so far is made whole in a fresh cell or in `word_`, and the row's bytes change in it. Of a new key a row is a
  // value with zeros around it: that waits until there is a slot.

  HOLDFAST_BOTH std::uint64_t column_of(std::uint64_t word) const {
    return part_of_word(word, rows_.column, rows_.value_bytes);
  }

  /// The bytes of the column in the value that was made whole.
  HOLDFAST_BOTH void put_column(std::size_t row) {
    if (view_.in_slot()) {
      word_ = with_part(word_, row_word(row), rows_.column, rows_.value_bytes);
    } else {
      tile_.write_column(memory_, view_.cell(cell_) + rows_.column, rows_.value(row), rows_.value_bytes);
    }
  }

  /// False: no cell.
  HOLDFAST_BOTH bool make_whole() {
    if (!view_.in_slot() && !take_cell()) return false;
    const Source from = source_;
    const bool zeros = from == Source::absent || from == Source::row;
    source_ = Source::fresh;
    if (view_.in_slot()) {
      if (zeros) word_ = 0;
    } else {
      std::byte* const fresh = view_.cell(cell_);
      if (zeros) tile_.zero_cell(memory_, fresh, view_.value_bytes);
      if (from == Source::pool) tile_.copy_cell(memory_, fresh, view_.cell(old_.word - 1), view_.value_bytes);
    }
    if (from == Source::row) put_column(row_);
    return true;
  }

  HOLDFAST_BOTH bool set_column(std::size_t row) {
    if (source_ == Source::absent || source_ == Source::row) {
      source_ = Source::row;
      row_ = row;
      return true;
    }
    if (!make_whole()) return false;
    put_column(row);
    return true;
  }

  HOLDFAST_BOTH bool combine_column(std::size_t row, const Combining& how) {
    if (!make_whole()) return false;
    if (view_.in_slot()) {
      const std::uint64_t sum = combine_word(column_of(word_), row_word(row), how);
      word_ = with_part(word_, sum, rows_.column, rows_.value_bytes);
    } else {
      tile_.combine_column(memory_, view_.cell(cell_) + rows_.column, rows_.value(row), rows_.value_bytes, how);
    }
    return true;
  }

  HOLDFAST_BOTH bool read(ItemKind<false>, std::size_t row) { return read_value(row), true; }
  HOLDFAST_BOTH void read_value(std::size_t row) {
    std::byte* const to = rows_.result(row);
    if (to == nullptr) return;
    if (source_ == Source::absent) return tile_.zero(to, rows_.value_bytes);
    if (source_ == Source::row) return tile_.copy(to, rows_.value(row_), rows_.value_bytes);
    if (view_.in_slot()) {
      const std::uint64_t word = kColumns && rows_.partial ? column_of(word_) : word_;
      return tile_.once([&] { return store_bytes(to, word, rows_.value_bytes), 0; }), void();
    }
    const std::byte* const cell = view_.cell(source_ == Source::pool ? old_.word - 1 : cell_);
    tile_.read_cell(memory_, to, cell + (kColumns ? rows_.column : 0), rows_.value_bytes);
  }

  HOLDFAST_BOTH bool take_cell() {
    if (!has_cell_) {
      const bool adds_key = !old_;
      const std::uint64_t cell = tile_.once([&] { return memory_.take_cell(adds_key); });
      if (cell == ~std::uint64_t{0}) return false;
      cell_ = cell;
      has_cell_ = true;
    }
    return true;
  }

  const Tile& tile_;
  const Memory& memory_;
  const View<Shape>& view_;
  const Rows& rows_;
  const Permits& permits_;
  const Item old_;
  Source source_;
  std::uint64_t word_;   ///< the value, where it lives in the slot
  std::size_t row_ = 0;  ///< where source is row
  std::uint64_t cell_ = 0;
  bool has_cell_ = false;
  bool goes_on_ = true;       ///< no erase: the old item, if there is one, is still the key's
  std::uint64_t writes_ = 0;  ///< operations since then that changed the value
};

}  // namespace holdfast::gphash
