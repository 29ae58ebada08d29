// together.hpp: changes of several keys, whose searches and exchanges are batches of the index: for one that answers large batches at a fixed cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "store/cpu/group.hpp"
#include "store/protocol/together.hpp"

namespace holdfast::store::cpu {

/// One row that is asked for.
struct Ask {
  enum class Kind : std::uint8_t {
    set,
    count,
    erase,
    touch,
    mark_stale,
    read,   ///< a search
    single  ///< a change that the caller makes, by another call
  };
  Kind kind = Kind::set;
  Content content;  ///< of `set`; of the others the key
  Condition condition = Condition::none;
  std::uint64_t cas = 0;     ///< of `set` with Condition::cas; of `erase`, if not 0
  std::uint64_t number = 0;  ///< of `count`: by how much; of `touch` and `mark_stale`: the expiry
  bool subtracts = false;    ///< of `count`
};

/// For one thread.
class Engine::Together {
 public:
  static constexpr std::size_t kMost = 4096;  ///< changes of one batch

  explicit Together(Engine& engine) : engine_(engine), parts_(engine), marks_(marks_of(engine.claims_.words())) {}

  /// Executes rows; those of one key in their order. `ask(i)`: row i; `end(i, change, number)`: the answer of a change, and the new number of a
  /// `count`; `read(i, look)` as in `Lookup::run`; `single(i)`: by the caller.
  template <class AskOf, class End, class Read, class Single>
  void run(std::size_t size, const AskOf& ask, const End& end, const Read& read, const Single& single) {
    std::vector<std::uint32_t> waiting(size);
    for (std::size_t i = 0; i < size; ++i) waiting[i] = static_cast<std::uint32_t>(i);
    while (!waiting.empty()) {  // ends: each round executes the first of those that wait
      collect(waiting, ask, end);
      read_all(ask, read);
      for (const std::uint32_t number : singles_) single(number);
      change(ask, end);
    }
  }
  /// Changes alone.
  template <class AskOf, class End>
  void run(std::size_t size, const AskOf& ask, const End& end) {
    run(
        size, ask, end, [](std::size_t, const auto&) { return Look::absent; }, [](std::size_t) {});
  }

 private:
  struct Member {
    std::uint32_t number;  ///< of the change
    store::Row row;
  };

  /// Takes cells, and gives many back under one lock.
  class TogetherParts : public BatchParts {
   public:
    explicit TogetherParts(Engine& engine) : BatchParts(engine), engine_(engine) {}

    void look_up(std::span<store::Row> rows) {
      hashes_.clear();
      for (const store::Row& row : rows) hashes_.push_back(row.key.hash);
      keys_ = rows;
      named_.resize(rows.size());
      engine_.index_.search(hashes_, named_);
      for (const cuckoo::Location location : named_) {
        const Cell cell = location == cuckoo::kNone ? Cell{} : engine_.cells_.at({location});
        if (!cell.none()) __builtin_prefetch(cell.words);
      }
    }
    Candidates looked_up(std::size_t row) {
      Candidates found;
      if (named_[row] == cuckoo::kNone) return found;
      found.cells[0] = engine_.cells_.at({named_[row]});
      if (found.cells[0].none()) return candidates(keys_[row].key);  // replaced since, of another key
      found.size = 1;
      return found;
    }
    using BatchParts::exchange;
    void exchange(std::span<store::Row> rows) {
      for (const Role role : {Role::puts, Role::erases}) {
        hashes_.clear(), old_.clear(), next_.clear();
        for (const store::Row& row : rows) {
          if (!row.changes || row.role != role) continue;
          hashes_.push_back(row.key.hash);
          old_.push_back(row.old().word);
          next_.push_back(row.next().word);
        }
        if (hashes_.empty()) continue;
        outcomes_.resize(hashes_.size());
        if (role == Role::erases) {
          engine_.index_.erase(hashes_, old_, outcomes_);
          continue;
        }
        engine_.index_.exchange(hashes_, old_, next_, outcomes_);
        std::size_t at = 0;
        for (store::Row& row : rows) {
          if (!row.changes || row.role != role) continue;
          HOLDFAST_ASSERT(outcomes_[at] != cuckoo::Outcome::absent);
          row.is_named = outcomes_[at++] != cuckoo::Outcome::no_cell;
        }
      }
    }

   private:
    Engine& engine_;
    std::span<const store::Row> keys_;
    std::vector<cuckoo::Hash> hashes_;
    std::vector<cuckoo::Location> old_, next_, named_;
    std::vector<cuckoo::Outcome> outcomes_;
  };

  /// What the rounds of a thread have met.
  struct Marks {
    struct Last {
      std::uint64_t changed = 0;  ///< the last round in which a row changes a key of the claim, or waits
      std::uint64_t read = 0;     ///< reads one
    };
    std::vector<Last> of_claim;
    std::uint64_t round = 0;
  };
  /// Batches may be small: those of a thread use the same memory.
  static Marks& marks_of(std::size_t claims) {
    static thread_local Marks marks;
    if (marks.of_claim.size() < claims) marks.of_claim.resize(claims);
    return marks;
  }

  static Role role_of(Ask::Kind kind) {
    if (kind == Ask::Kind::erase) return Role::erases;
    return kind == Ask::Kind::set || kind == Ask::Kind::count ? Role::puts : Role::states;
  }

  /// Whether the row is executed in this round: no earlier one of its claim waits, or changes a key; none reads one, if it is a change.
  bool joins(const Ask& ask, std::uint64_t claim) {
    const bool reads = ask.kind == Ask::Kind::read;
    auto& [changed, read] = marks_.of_claim[claim];
    const bool joins = !full_ && changed != marks_.round && (reads || read != marks_.round);
    (joins && reads ? read : changed) = marks_.round;
    return joins;
  }

  /// The rows of a round: those that join, as long as there are cells for their items. The others stay in `waiting`.
  template <class AskOf, class End>
  void collect(std::vector<std::uint32_t>& waiting, const AskOf& ask, const End& end) {
    members_.clear();
    reads_.clear();
    singles_.clear();
    full_ = false;
    ++marks_.round;
    std::size_t left = 0, size = 0;
    for (const std::uint32_t number : waiting) {
      if (size == kMost) {
        waiting[left++] = number;
        continue;
      }
      const Ask its = ask(number);
      const Key key = engine_.key_of(its.content.key, its.content.key_bytes);
      if (!joins(its, parts_.claim_order(key))) {
        waiting[left++] = number;
        continue;
      }
      ++size;
      if (its.kind == Ask::Kind::read || its.kind == Ask::Kind::single) {
        (its.kind == Ask::Kind::read ? reads_ : singles_).push_back(number);
        continue;
      }
      Member member{number, {}};
      member.row.key = key;
      member.row.role = role_of(its.kind);
      if (member.row.role != Role::puts || take_cells(its, member.row)) {
        members_.push_back(member);
      } else if (members_.empty()) {  // no change of this round gives a cell
        end(number, Change::no_space, 0);
      } else {
        waiting[left++] = number;
        full_ = true;
      }
    }
    waiting.resize(left);
  }
  bool take_cells(const Ask& ask, store::Row& row) {
    row.draft.item = engine_.begin_item(parts_, ask.kind == Ask::Kind::set ? ask.content : counted(ask.content));
    return !row.draft.item.cell.none();
  }

  template <class AskOf, class Read>
  void read_all(const AskOf& ask, const Read& read) {
    if (reads_.empty()) return;
    keys_.clear();
    for (const std::uint32_t number : reads_) {
      const Content content = ask(number).content;
      keys_.emplace_back(content.key, content.key_bytes);
    }
    lookup_.look_up(engine_, keys_, keys_.size());
    lookup_.run(keys_, [&](std::size_t i, const auto& look) { return read(reads_[i], look); });
  }

  template <class AskOf, class End>
  void change(const AskOf& ask, const End& end) {
    if (members_.empty()) return;
    order_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) order_.emplace_back(parts_.claim_order(members_[i].row.key), i);
    std::sort(order_.begin(), order_.end());
    rows_.clear();
    for (const auto& [claim, i] : order_) rows_.push_back(members_[i].row);
    const auto number_of = [&](std::size_t i) { return members_[order_[i].second].number; };
    numbers_.assign(rows_.size(), 0);
    change_together(parts_, std::span(rows_), [&](std::size_t i, const Current& old, Content& next) {
      return decide(i, ask(number_of(i)), old, next);
    });
    for (std::size_t i = 0; i < rows_.size(); ++i) end(number_of(i), rows_[i].draft.change, numbers_[i]);
  }

  Change decide(std::size_t i, const Ask& ask, const Current& old, Content& next) {
    switch (ask.kind) {
      case Ask::Kind::set: return Setting{engine_.memory_, ask.content, ask.condition, ask.cas}(old, next);
      case Ask::Kind::count:
        return Counting{engine_, rows_[i].key, ask.number, ask.subtracts, numbers_[i], digits_}(old, next);
      case Ask::Kind::erase:
        if (!old.is_there()) return Change::not_found;
        return ask.cas == 0 || old.cas(engine_.memory_) == ask.cas ? Change::erased : Change::mismatch;
      default: break;
    }
    if (!old.is_there()) return Change::not_found;
    const bool stale = ask.kind == Ask::Kind::mark_stale;
    const State state = stale ? old.state.stale() : old.state;
    rows_[i].state = state.with_expiry(stale && ask.number == 0 ? old.state.expiry() : ask.number);
    return Change::touched;
  }
  /// What a number may need.
  static Content counted(Content content) {
    content.value_bytes = Digits().size();
    content.cas = 0;
    return content;
  }

  Engine& engine_;
  TogetherParts parts_;
  Marks& marks_;
  bool full_ = false;
  std::vector<Member> members_;
  std::vector<std::uint32_t> reads_, singles_;
  std::vector<std::span<const std::byte>> keys_;  ///< of `reads_`
  Lookup lookup_;
  std::vector<std::pair<std::uint64_t, std::size_t>> order_;  ///< claim and member
  std::vector<store::Row> rows_;
  std::vector<std::uint64_t> numbers_;
  Digits digits_{};
};

}  // namespace holdfast::store::cpu
