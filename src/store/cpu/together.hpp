// together.hpp: changes of several keys, whose searches and exchanges are batches of the index: for one that answers large batches at a fixed cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
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
      for (const std::uint32_t number : singles_) single(number);
      change(ask, end, read);
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
      rows_ = rows;
      hashes_.clear();
      for (const store::Row& row : rows) {
        if (!row.follows) hashes_.push_back(row.key.hash);
      }
      found_.resize(hashes_.size());
      engine_.index_.search(hashes_, found_);
      named_.assign(rows.size(), cuckoo::kNone);
      std::size_t at = 0;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (rows[row].follows) continue;
        named_[row] = found_[at++];
        const Cell cell = named_[row] == cuckoo::kNone ? Cell{} : engine_.cells_.at({named_[row]});
        if (!cell.none()) __builtin_prefetch(cell.words);
      }
    }
    Candidates looked_up(std::size_t row) {
      Candidates found;
      if (named_[row] == cuckoo::kNone) return found;
      found.cells[0] = engine_.cells_.at({named_[row]});
      if (found.cells[0].none()) return candidates(rows_[row].key);  // replaced since, of another key
      found.size = 1;
      return found;
    }
    using BatchParts::exchange;
    void exchange(std::span<store::Row> rows) {
      for (const bool removes : {false, true}) {
        hashes_.clear(), from_.clear(), to_.clear();
        for (const store::Row& row : rows) {
          if (!row.exchanges() || row.to.none() != removes) continue;
          hashes_.push_back(row.key.hash);
          from_.push_back(row.from.word);
          to_.push_back(row.to.word);
        }
        if (hashes_.empty()) continue;
        outcomes_.resize(hashes_.size());
        if (removes) {
          engine_.index_.erase(hashes_, from_, outcomes_);
          continue;
        }
        engine_.index_.exchange(hashes_, from_, to_, outcomes_);
        std::size_t at = 0;
        for (store::Row& row : rows) {
          if (!row.exchanges() || row.to.none()) continue;
          HOLDFAST_ASSERT(outcomes_[at] != cuckoo::Outcome::absent);
          row.is_named = outcomes_[at++] != cuckoo::Outcome::no_cell;
        }
      }
      if (!engine_.index_.is_batched()) forget_replaced(rows);
    }

   private:
    /// The index that took the place of another one may have been built when an item lived that a later row of its key has replaced.
    void forget_replaced(std::span<store::Row> rows) {
      for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
        const store::Row& row = rows[i];
        if (!rows[i + 1].follows || row.role != Role::puts || !row.changes) continue;
        const cuckoo::Location replaced = row.draft.item.cell.location.word;
        std::size_t last = i + 1;
        while (last + 1 < rows.size() && rows[last + 1].follows) ++last;
        if (rows[last].to.word == replaced) continue;  // it is what the key has
        cuckoo::Outcome outcome{};
        engine_.index_.erase({&row.key.hash, 1}, {&replaced, 1}, {&outcome, 1});
      }
    }

    Engine& engine_;
    std::span<const store::Row> rows_;
    std::vector<cuckoo::Hash> hashes_;
    std::vector<cuckoo::Location> from_, to_, found_, named_;
    std::vector<cuckoo::Outcome> outcomes_;
  };

  /// What the rounds of a thread have met.
  struct Marks {
    struct Last {
      std::uint64_t waits = 0;    ///< the last round in which a row of the claim waits for the next one
      std::uint64_t changed = 0;  ///< a row is among those that are changed together
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
    if (kind == Ask::Kind::read) return Role::reads;
    return kind == Ask::Kind::set || kind == Ask::Kind::count ? Role::puts : Role::states;
  }

  /// In which part of a round a row is executed.
  enum class Part : std::uint8_t {
    none,      ///< it waits for the next round
    singles,   ///< first
    together,  ///< then
  };
  /// Rows of a claim keep their order.
  Part part_of(Ask::Kind kind, std::uint64_t claim) {
    auto& [waits, changed] = marks_.of_claim[claim];
    const bool is_single = kind == Ask::Kind::single;
    const bool has_changes = changed == marks_.round;
    if (full_ || waits == marks_.round || (is_single && has_changes)) {
      waits = marks_.round;
      return Part::none;
    }
    if (is_single) waits = marks_.round;  // what comes behind it
    if (is_single) return Part::singles;
    changed = marks_.round;
    return Part::together;
  }

  /// The rows of a round: those that join, as long as there are cells for their items. The others stay in `waiting`.
  template <class AskOf, class End>
  void collect(std::vector<std::uint32_t>& waiting, const AskOf& ask, const End& end) {
    members_.clear();
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
      const Part part = part_of(its.kind, parts_.claim_order(key));
      if (part == Part::none) {
        waiting[left++] = number;
        continue;
      }
      ++size;
      if (part == Part::singles) {
        singles_.push_back(number);
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

  /// Those of a key are neighbours, in their order.
  void sort_members() {
    const auto bytes = [](const Key& key) {
      return std::string_view(reinterpret_cast<const char*>(key.data), key.bytes);
    };
    const auto same = [&](const Key& one, const Key& other) {
      return one.hash == other.hash && bytes(one) == bytes(other);
    };
    order_.resize(members_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t one, std::uint32_t other) {
      const Key &first = members_[one].row.key, &second = members_[other].row.key;
      if (first.hash != second.hash) return first.hash < second.hash;  // and so the numbers of claims
      const int compared = bytes(first).compare(bytes(second));
      return compared != 0 ? compared < 0 : one < other;
    });
    rows_.clear();
    for (const std::uint32_t i : order_) {
      rows_.push_back(members_[i].row);
      rows_.back().follows = rows_.size() > 1 && same(rows_[rows_.size() - 2].key, rows_.back().key);
    }
  }

  template <class AskOf, class End, class Read>
  void change(const AskOf& ask, const End& end, const Read& read) {
    if (members_.empty()) return;
    sort_members();
    const auto number_of = [&](std::size_t i) { return members_[order_[i]].number; };
    numbers_.assign(rows_.size(), 0);
    change_together(parts_, std::span(rows_), [&](std::size_t i, const Current& old, Content& next) {
      if (rows_[i].role == Role::reads) return read_one(read, number_of(i), old);
      return decide(i, ask(number_of(i)), old, next);
    });
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Change change = rows_[i].draft.change;
      if (rows_[i].role != Role::reads) {
        end(number_of(i), change, numbers_[i]);
      } else if (change == Change::no_space) {  // what it has read was not named
        read(number_of(i), [](const auto&) { return Look::absent; });
      }
    }
  }
  /// Among changes of its key, under the claim.
  template <class Read>
  Change read_one(const Read& read, std::uint32_t number, const Current& old) {
    read(number, [&](const auto& copy) {
      if (!old.is_there()) return Look::absent;
      [[maybe_unused]] const bool is_whole = copy(old.header, old.state, old.sequence, old.cell);
      HOLDFAST_ASSERT(is_whole);
      engine_.cells_.mark(old.cell.location);
      return Look::found;
    });
    return Change::not_found;  // it changes nothing
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
    if (!old.state.is_valid()) return Change::damaged;
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
  std::vector<std::uint32_t> singles_;
  std::vector<std::uint32_t> order_;  ///< members
  std::vector<store::Row> rows_;
  std::vector<std::uint64_t> numbers_;
  Digits digits_{};
};

}  // namespace holdfast::store::cpu
