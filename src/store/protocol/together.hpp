// together.hpp: changes of several keys: all items are committed, and then the index makes all exchanges as one batch (Mega-KV §5.1).
//
//   cells taken, vacated; all claims; one batch of searches; number drawn and item committed, row by row; one batch of exchanges and removals;
//   row by row: the old item killed, claim ends, its cell is free
//
// Of each key these are the steps of change.hpp in their order. All claims are held until the batch of the index has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "store/protocol/change.hpp"

namespace holdfast::store {

enum class Role : std::uint8_t {
  puts,    ///< `decide` answers `inserted` or `replaced`, as for `put`. The row's cells are taken and vacated
  erases,  ///< `erased`, if the key has an item
  states,  ///< `touched`, and `Row::state` is what the item gets
};

/// One change.
struct Row {
  Key key;
  Role role = Role::puts;
  Draft draft;  ///< `draft.item` is given, and `draft.change` is the answer
  State state;
  bool holds = false;     ///< the claim of its key
  bool changes = false;   ///< the index changes
  bool is_named = false;  ///< afterwards, of a row that puts: the index names the new item

  /// What the index does if `changes`.
  HOLDFAST_BOTH Location old() const { return draft.old.cell.location; }
  HOLDFAST_BOTH Location next() const { return role == Role::puts ? draft.item.cell.location : Location{}; }
};

/// What changes of several keys use.
template <class P>
concept PartsTogether = Parts<P> && requires(P parts, Key key, std::span<Row> rows, std::size_t i) {
  { parts.claim_order(key) } -> std::convertible_to<std::uint64_t>;  ///< keys with one number have one claim
  parts.look_up(rows);                                               ///< one of the `candidates` of each row
  { parts.looked_up(i).size } -> std::convertible_to<unsigned>;      ///< that of row i, or all of them
  parts.exchange(rows);  ///< `exchange` or `remove` of each row that `changes`; sets `is_named`
};

/// The claims of all rows. What throws under them ends them too.
template <class P>
class ClaimsTogether {
 public:
  /// In the order of their numbers, which differ: no two callers wait for each other.
  HOLDFAST_BOTH ClaimsTogether(P& parts, std::span<Row> rows) : parts_(parts), rows_(rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      HOLDFAST_ASSERT(i == 0 || parts.claim_order(rows[i - 1].key) < parts.claim_order(rows[i].key));
      parts.claim(rows[i].key);
      rows[i].holds = true;
    }
  }
  HOLDFAST_BOTH ~ClaimsTogether() {
    for (Row& row : rows_) end(row);
  }
  ClaimsTogether(const ClaimsTogether&) = delete;
  ClaimsTogether& operator=(const ClaimsTogether&) = delete;
  HOLDFAST_BOTH void end(Row& row) {
    if (row.holds) parts_.release(row.key);
    row.holds = false;
  }

 private:
  P& parts_;
  const std::span<Row> rows_;
};

/// Up to the commit of its item. `look()`: what its key has; `decide(old, content)` as for `put`.
template <Parts P, class Look, class Decide>
HOLDFAST_BOTH void commit_row(P& parts, Row& row, const Look& look, const Decide& decide) {
  auto& memory = parts.memory();
  Draft& draft = row.draft;
  if (row.role == Role::puts) {
    row.changes = commit_put(parts, draft, look, decide);
    return;
  }
  draft.old = look();
  draft.change = decide(draft.old, draft.content);
  if (row.role == Role::states) {
    if (draft.change == Change::touched) set_state(memory, draft.old.cell.words, row.state);
    return;
  }
  row.changes = !draft.old.cell.none() && draft.change != Change::mismatch;  // one that is over goes too
  if (row.changes) kill(memory, draft.old.cell.words);
}

/// When the index has changed.
template <Parts P, class Release>
HOLDFAST_BOTH void end_row(P& parts, Row& row, const Release& release) {
  Draft& draft = row.draft;
  if (row.role == Role::puts && row.changes) {
    draft.change = end_put(parts, draft, row.is_named, release);
    return;
  }
  release();
  if (row.role == Role::puts) give_uncommitted(parts, draft.item);
  if (row.role == Role::erases && row.changes) give_item(parts, draft.old.cell, draft.old.header);
}

/// Executes the rows, whose keys have different claims and ascend by their numbers. `decide(i, old, content)`: what becomes of the key of row i. An
/// item that is committed when something throws has no answer: a crash, and the next opening, leave it or the one before.
template <PartsTogether P, class Decide>
HOLDFAST_BOTH void change_together(P& parts, std::span<Row> rows, const Decide& decide) {
  const auto decide_row = [&](std::size_t i) {
    return [&decide, i](const Current& old, Content& content) { return decide(i, old, content); };
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].role == Role::puts) begin_put(parts, rows[i].key, rows[i].draft, decide_row(i));
  }
  ClaimsTogether<P> claims(parts, rows);
  const Moment moment = parts.moment();
  parts.look_up(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    bool first = true;
    const auto look = [&] {
      Current found;
      if (!std::exchange(first, false)) return current(parts, row.key);
      const auto named = parts.looked_up(i);
      const bool ends = find_current(parts, row.key, moment, named, found);
      const bool is_sure = named.size == 0 || !found.cell.none();  // otherwise another of them may be the key's
      return ends && is_sure ? found : current(parts, row.key);
    };
    commit_row(parts, row, look, decide_row(i));
    if (!parts.memory().keeps(Step::hold_claims)) claims.end(row);
  }
  parts.exchange(rows);
  for (Row& row : rows) {
    end_row(parts, row, [&] { claims.end(row); });
  }
}

}  // namespace holdfast::store
