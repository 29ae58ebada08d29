// operations.hpp: what every operation does to its key, once: a table that evaluation, effects, sums and answers are read from.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

/// What becomes of a key's value.
enum class Act : std::uint8_t {
  keeps,     ///< nothing changes
  sets,      ///< it is what the row gives
  combines,  ///< it is what was there, or nothing, combined with what the row gives
  removes,   ///< the key goes
};

namespace operations {

struct Row {
  Op op;
  Act absent, there;           ///< by whether the key is there
  Status if_absent, if_there;  ///< of an operation that finds space
  bool reads;                  ///< it gives the value back
};

inline constexpr Row kRows[kOps] = {
    {Op::insert, Act::sets, Act::keeps, Status::inserted, Status::exists, false},
    {Op::insert_or_assign, Act::sets, Act::sets, Status::inserted, Status::updated, false},
    {Op::assign, Act::keeps, Act::sets, Status::not_found, Status::updated, false},
    {Op::find, Act::keeps, Act::keeps, Status::not_found, Status::found, true},
    {Op::contains, Act::keeps, Act::keeps, Status::not_found, Status::found, false},
    {Op::erase, Act::keeps, Act::removes, Status::not_found, Status::erased, false},
    {Op::find_or_insert, Act::sets, Act::keeps, Status::inserted, Status::found, true},
    {Op::insert_and_find, Act::sets, Act::keeps, Status::inserted, Status::exists, true},
    {Op::accumulate, Act::combines, Act::combines, Status::inserted, Status::updated, false},
};

/// A column of the table in one word, four bits an operation: kernels have no arrays of constants. `none`: of codes that no operation has.
template <class Column>
consteval std::uint64_t packed(Column Row::*column, Column none) {
  std::uint64_t word = 0;
  for (unsigned code = kOps; code < 16; ++code) word |= std::uint64_t{static_cast<std::uint8_t>(none)} << (4 * code);
  for (unsigned op = 0; op < kOps; ++op) {
    if (kRows[op].op != static_cast<Op>(op)) throw "the rows stand in the order of their operations";
    word |= std::uint64_t{static_cast<std::uint8_t>(kRows[op].*column)} << (4 * op);
  }
  return word;
}
static_assert(kOps < 16 && kStatuses <= 16);  // the last code stands for all from there on

/// What status.hpp says of an operation is what its row says.
consteval bool agrees_with_status(const Row& row) {
  const auto takes = [](Act act) { return act == Act::sets || act == Act::combines; };
  return changes(row.op) == (row.absent != Act::keeps || row.there != Act::keeps) &&
         takes_value(row.op) == (takes(row.absent) || takes(row.there)) && reads_value(row.op) == row.reads;
}
consteval bool all_agree() {
  for (const Row& row : kRows) {
    if (!agrees_with_status(row)) return false;
  }
  return true;
}
static_assert(all_agree());

inline constexpr std::uint64_t kActAbsent = packed(&Row::absent, Act::keeps);
inline constexpr std::uint64_t kActThere = packed(&Row::there, Act::keeps);
inline constexpr std::uint64_t kIfAbsent = packed(&Row::if_absent, Status::not_run);
inline constexpr std::uint64_t kIfThere = packed(&Row::if_there, Status::not_run);

/// What a column says of an operation. Codes come from arrays in GPU memory too, which are not validated.
HOLDFAST_BOTH constexpr unsigned entry(std::uint64_t column, Op op) {
  const auto code = static_cast<unsigned>(op);
  return column >> (4 * (code < 15 ? code : 15)) & 15;
}

}  // namespace operations

/// What `op` does to the value of a key that is there, or is not. A code that no operation has does nothing.
HOLDFAST_BOTH constexpr Act act_of(Op op, bool there) {
  return static_cast<Act>(operations::entry(there ? operations::kActThere : operations::kActAbsent, op));
}

/// The answer of an operation that finds space; `not_run` for an invalid code.
HOLDFAST_BOTH constexpr Status status_of(Op op, bool there) {
  return static_cast<Status>(operations::entry(there ? operations::kIfThere : operations::kIfAbsent, op));
}

static_assert(act_of(static_cast<Op>(kOps), true) == Act::keeps && act_of(static_cast<Op>(255), false) == Act::keeps);
static_assert(status_of(static_cast<Op>(kOps), false) == Status::not_run);
static_assert(status_of(static_cast<Op>(255), true) == Status::not_run);

namespace operations {

/// The operations of which `is` is true, a bit each.
template <class Is>
consteval unsigned those(Is is) {
  unsigned bits = 0;
  for (unsigned op = 0; op < kOps; ++op) bits |= is(static_cast<Op>(op)) ? 1u << op : 0;
  return bits;
}

inline constexpr unsigned kThatChange = those([](Op op) { return changes(op); });
inline constexpr unsigned kThatAddKeys = those([](Op op) { return act_of(op, false) != Act::keeps; });
inline constexpr unsigned kThatReplace =
    those([](Op op) { return act_of(op, true) == Act::sets || act_of(op, true) == Act::combines; });
inline constexpr unsigned kThatTakeValues = those([](Op op) { return takes_value(op); });
inline constexpr unsigned kThatReadValues = those([](Op op) { return reads_value(op); });

}  // namespace operations

/// Some operations: those that the rows of a batch may ask for.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr explicit OpSet(Op op) { add(op); }
  static constexpr OpSet all() {
    OpSet all;
    all.bits_ = (1u << kOps) - 1;
    return all;
  }

  constexpr void add(Op op) { bits_ |= 1u << static_cast<unsigned>(op); }
  constexpr bool has(Op op) const { return (bits_ & OpSet(op).bits_) != 0; }
  /// One of them, at least, does something that a key or its value is not the same after.
  constexpr bool changes() const { return (bits_ & operations::kThatChange) != 0; }
  constexpr bool adds_keys() const { return (bits_ & operations::kThatAddKeys) != 0; }
  constexpr bool replaces_values() const { return (bits_ & operations::kThatReplace) != 0; }
  constexpr bool takes_values() const { return (bits_ & operations::kThatTakeValues) != 0; }
  constexpr bool reads_values() const { return (bits_ & operations::kThatReadValues) != 0; }
  /// `is` is true of one of them, at least.
  template <class Is>
  constexpr bool any(const Is& is) const {
    for (unsigned op = 0; op < kOps; ++op) {
      if ((bits_ >> op & 1) != 0 && is(static_cast<Op>(op))) return true;
    }
    return false;
  }

 private:
  unsigned bits_ = 0;
};

}  // namespace holdfast
