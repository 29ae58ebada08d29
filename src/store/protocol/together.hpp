// together.hpp: changes of many keys, and of one key several: all items are committed, and then the index makes one exchange for each key as one batch (Mega-KV
// §5.1).
//
//   cells taken, vacated; all claims; one batch of searches; number drawn and item committed, row by row; one batch of exchanges and removals;
//   key by key: the items that others replaced killed; claims end, cells are free
//
// Of each key these are the steps of change.hpp in their order. All claims are held until the batch of the index has returned. Of several changes of a key
// the index meets the last only: a search finds what it named before, or the last item. An erase among them kills the item that the index names after the
// one that the key has: until then a search finds it, and a crash may leave it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "store/protocol/change.hpp"

namespace holdfast::store {

enum class Role : std::uint8_t {
  puts,    ///< `decide` answers `inserted` or `replaced`, as for `put`. The row's cells are taken and vacated
  erases,  ///< `erased`, if the key has an item
  states,  ///< `touched`, and `Row::state` is what the item gets
  reads,   ///< `decide` reads the item
};

/// One change, or a read among changes of its key.
struct Row {
  Key key;
  Role role = Role::puts;
  bool follows = false;  ///< the row before has the same key
  Draft draft;           ///< `draft.item` is given, and `draft.change` is the answer
  State state;
  bool holds = false;    ///< a claim that ends with this row, the last of its keys
  bool changes = false;  ///< it has put an item, or killed one

  // Of the last row of a key: what the index names before and afterwards.
  Location from, to;
  bool is_named = false;  ///< the index names `to`
  HOLDFAST_BOTH bool exchanges() const { return from.word != to.word; }
  HOLDFAST_BOTH bool has_failed() const { return exchanges() && !to.none() && !is_named; }

  /// What the key has when the row was executed.
  HOLDFAST_BOTH Cell then() const {
    if (!changes) return draft.old.cell;
    return role == Role::puts ? draft.item.cell : Cell{};
  }
};

/// What changes of several keys use.
template <class P>
concept PartsTogether = Parts<P> && requires(P parts, Key key, std::span<Row> rows, std::size_t i) {
  { parts.claim_order(key) } -> std::convertible_to<std::uint64_t>;  ///< keys with one number have one claim
  parts.look_up(rows);  ///< one of the `candidates` of each row that follows none of its key
  { parts.looked_up(i).size } -> std::convertible_to<unsigned>;  ///< that of row i, or all of them
  parts.exchange(rows);  ///< `exchange` or, where `to` is none, `remove`, of each row that `exchanges`; sets `is_named`
};

/// The claims of all rows. What throws under them ends them too.
template <class P>
class ClaimsTogether {
 public:
  /// In the order of their numbers: no two callers wait for each other. Keys with one number are neighbours.
  HOLDFAST_BOTH ClaimsTogether(P& parts, std::span<Row> rows) : parts_(parts), rows_(rows) {
    const auto number = [&](std::size_t i) -> std::uint64_t { return parts.claim_order(rows[i].key); };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      HOLDFAST_ASSERT(i == 0 || number(i - 1) <= number(i));
      if (i == 0 || number(i - 1) != number(i)) parts.claim(rows[i].key);
      rows[i].holds = i + 1 == rows.size() || number(i + 1) != number(i);
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

/// Under the claim: the item of the key in a cell that the index may not name yet.
template <PartsTogether P>
HOLDFAST_BOTH Current current_in(P& parts, const Key& key, const Cell& cell) {
  Current found;
  for (;;) {  // ends: each round but the last meets the end of the item's time
    const Moment moment = parts.time();
    std::remove_cvref_t<decltype(parts.looked_up(0))> its;
    its.size = cell.none() ? 0 : 1;
    its.cells[0] = cell;
    if (find_current(parts, key, moment, its, found)) return found;
  }
}

/// Up to the commit of its item. `look()`: what its key has; `decide(old, content)` as for `put`; `named()`: what the index names for the key.
template <Parts P, class Look, class Decide, class Named>
HOLDFAST_BOTH void commit_row(P& parts, Row& row, const Look& look, const Decide& decide, const Named& named) {
  auto& memory = parts.memory();
  Draft& draft = row.draft;
  if (row.role == Role::puts) {
    row.changes = commit_put(parts, draft, look, decide);
    return;
  }
  draft.old = look();
  draft.change = decide(draft.old, draft.content);
  if (row.role == Role::states && draft.change == Change::touched) {
    set_state(memory, draft.old.cell.words, row.state);
    if (row.state.expiry() != 0) parts.expires(draft.old.cell.location, row.state.expiry());
  }
  if (row.role != Role::erases) return;
  row.changes = !draft.old.cell.none() && draft.change != Change::mismatch;  // one that is over goes too
  if (!row.changes) return;
  const Cell last = named();
  const bool hides = !last.none() && last.location.word != draft.old.cell.location.word;
  if (hides && !memory.keeps(Step::kill_named_last)) kill(memory, last.words);
  kill(memory, draft.old.cell.words);
  if (hides && memory.keeps(Step::kill_named_last)) kill(memory, last.words);
}

/// Whether the key has a new item behind the row, or none.
HOLDFAST_BOTH inline bool ends_item(const Row& row) {
  return row.role == Role::erases ? row.draft.change != Change::mismatch : row.role == Role::puts && row.changes;
}

/// The rows of a key, when the index has changed. Cells are free when the claim has ended.
template <Parts P, class Release>
HOLDFAST_BOTH void end_key(P& parts, std::span<Row> rows, const Release& release) {
  auto& memory = parts.memory();
  const bool has_failed = rows.back().has_failed();  // the key had nothing before
  for (const Row& row : rows) {
    if (row.role != Role::puts || !row.changes) continue;
    const Draft& draft = row.draft;
    if (has_failed) {
      if (memory.keeps(Step::kill_unnamed)) kill(memory, draft.item.cell.words);
      continue;
    }
    HOLDFAST_FAILPOINT(item_exchanged);
    if (!draft.old.cell.none() && memory.keeps(Step::kill_replaced)) kill(memory, draft.old.cell.words);
  }
  bool drops = false;
  for (const Row& row : rows) drops = drops || (!has_failed && ends_item(row));
  if (drops) drop_damaged(parts, rows.back().key);
  release();
  for (Row& row : rows) {
    Draft& draft = row.draft;
    if (row.role == Role::puts && !row.changes) give_uncommitted(parts, draft.item);
    if (row.role == Role::puts && row.changes && has_failed) give_item(parts, draft.item.cell, draft.item.header);
    if (row.changes && !has_failed && !draft.old.cell.none()) give_item(parts, draft.old.cell, draft.old.header);
    if (has_failed) draft.change = Change::no_space;
  }
}

/// Executes the rows. They ascend by the numbers of their claims; those of a key are neighbours, in their order. `decide(i, old, content)`: what becomes of
/// the key of row i. An item that is committed when something throws has no answer: a crash, and the next opening, leave it or the one before.
template <PartsTogether P, class Decide>
HOLDFAST_BOTH void change_together(P& parts, std::span<Row> rows, const Decide& decide) {
  const auto decide_row = [&](std::size_t i) {
    return [&decide, i](const Current& old, Content& content) { return decide(i, old, content); };
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].role == Role::puts) begin_put(parts, rows[i].key, rows[i].draft, decide_row(i));
  }
  ClaimsTogether<P> claims(parts, rows);
  const Moment moment = parts.time();
  parts.look_up(rows);
  Cell named, now;  // what the index names for the key, and what it has
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    bool first = true;
    const auto look = [&] {
      if (row.follows) return current_in(parts, row.key, now);
      if (!std::exchange(first, false)) return current(parts, row.key);
      Current found;
      const auto its = parts.looked_up(i);
      const bool ends = find_current(parts, row.key, moment, its, found);
      const bool is_sure = its.size == 0 || !found.cell.none();  // otherwise another of them may be the key's
      return ends && is_sure ? found : current(parts, row.key);
    };
    commit_row(parts, row, look, decide_row(i), [&] { return row.follows ? named : Cell{}; });
    if (!row.follows) named = row.draft.old.cell;
    now = row.then();
    if (i + 1 == rows.size() || !rows[i + 1].follows) {
      row.from = named.location;
      row.to = now.location;
    }
    if (!parts.memory().keeps(Step::hold_claims)) claims.end(row);
  }
  parts.exchange(rows);
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end].follows) ++end;
    end_key(parts, rows.subspan(first, end - first), [&] { claims.end(rows[end - 1]); });
    first = end;
  }
}

}  // namespace holdfast::store
