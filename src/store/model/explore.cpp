// explore.cpp: what a store answers and what a crash leaves of it, against every order in which its changes can have happened.
#include "store/model/explore.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "store/protocol/piece.hpp"
#include "store/protocol/recover.hpp"
#include "structures/gphash/model/oracle.hpp"

namespace holdfast::store::model {

namespace {

namespace oracle = machine::model;
using oracle::kAbsent;
using oracle::kTorn;

constexpr unsigned kMostValueWords = 2 * kMostCellWords;
constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
constexpr std::uint64_t kFirstAfterRecovery =
    1000;  ///< numbers that no one has drawn before: they are reserved durably

/// Item `number` has this in word `i` of its value: torn ones show.
std::uint64_t plain_word(unsigned number, unsigned i) { return std::uint64_t{number} * 256 + i; }

/// The value of item kForger has, from the second line of its cell on, the bytes of an item of key 0 that was never stored.
constexpr unsigned kForgedAt = kLineWords - kHeaderWords - 1, kForgedNumber = 99;

std::uint64_t forged_word(unsigned i) {
  constexpr std::uint64_t kSequence = 900;
  Header header;
  header.key_bytes = 8;
  header.value_bytes = 8;
  const auto content = [](std::uint64_t at) { return at == kHeaderWords ? 0 : plain_word(kForgedNumber, 0); };
  const std::uint64_t sum =
      sum_of(header.words() - kHeaderWords, [&](std::uint64_t i) { return content(kHeaderWords + i); });
  header.checksum = checksum_of(kSequence, header, sum);
  const std::uint64_t words[kHeaderWords] = {kSequence, State::live(0).word, header.value_word(), header.key_word()};
  return i < kHeaderWords ? words[i] : content(i);
}

std::uint64_t value_word(unsigned number, unsigned i) {
  return number == kForger && i >= kForgedAt ? forged_word(i - kForgedAt) : plain_word(number, i);
}

oracle::State state_of(std::uint64_t number, std::uint64_t expiry) { return oracle::both_columns(number, expiry); }

/// The operations of a caller on a world.
class Runner {
 public:
  explicit Runner(World& world) : world_(world), parts_(world) {}

  Change run(const Operation& operation, oracle::State& read) {
    const KeyBytes key{operation.key};
    switch (operation.op) {
      case Op::set_large: return set_large(operation);
      case Op::set:
      case Op::add:
      case Op::replace:
      case Op::increase: return put(operation);
      case Op::erase: return store::erase(parts_, key.key());
      case Op::evict: return evict(operation.key);
      case Op::touch: return store::touch(parts_, key.key(), operation.number);
      case Op::flush_all: parts_.flush_all(); return Change::touched;
      case Op::plan_flush: parts_.flush_all_at(operation.number); return Change::touched;
      case Op::pass_time: parts_.pass_time(operation.number); return Change::touched;
      case Op::find: break;
    }
    read = find(operation.key);
    return read == kAbsent ? Change::not_found : Change::touched;
  }

  oracle::State find(unsigned key) {
    const KeyBytes bytes{key};
    oracle::State found = kAbsent;
    const auto copy = [&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
      std::uint64_t number = kNoNumber;
      bool whole = true;
      const auto read = [&](const std::uint64_t* words, std::uint64_t begin, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::uint64_t word = parts_.memory().load(words + i);
          if (number == kNoNumber) number = word / 256;
          whole = whole && word == value_word(static_cast<unsigned>(number), static_cast<unsigned>(begin + i));
        }
      };
      bool is_its = true;
      if (header.chunks == 0) {
        read(cell.words + header.value_at(), 0, header.value_words());
      } else {
        is_its = visit_chunks(
            parts_.memory(), cell, header, sequence, parts_.chunk_words(),
            [&](Location location) { return parts_.at(location); }, read);
      }
      found = whole ? state_of(number, state.expiry()) : kTorn;
      return is_its;
    };
    return store::find(parts_, bytes.key(), copy).none() ? kAbsent : found;
  }

  void flush_all_at(std::uint64_t time) { parts_.flush_all_at(time); }
  void pass_time(std::uint64_t time) { parts_.pass_time(time); }

  Recovered recover() {
    parts_.read_record(kFirstAfterRecovery);
    Recovered recovered;
    const auto key_of = [](const std::uint64_t* cell, const Header& header) {
      return Key{reinterpret_cast<const std::byte*>(cell + header.key_at()), header.key_bytes};
    };
    std::vector<Cell> items, free;
    for (unsigned piece = 0; piece < world_.shape().pieces; ++piece) {
      const PieceWord entry{parts_.memory().load(world_.view().entry(piece + 1))};
      if (!entry.none()) parts_.set_class(piece, entry.size_class());
    }
    for (unsigned line = 0; line < world_.shape().pieces * kPieceLines; ++line) {
      const Cell cell = parts_.cell_at(line);
      if (cell.size == 0 || line % (8 * cell.size / kLineBytes) != 0) continue;
      Header header;
      bool is_free = false;
      if (look(parts_, parts_.moment(), cell, header, is_free, recovered)) {
        items.push_back(cell);
      } else if (is_free) {
        free.push_back(cell);
      }
    }
    const auto header_of = [&](const Cell& cell) {
      return Header::of(parts_.memory().load(cell.words + kValueWord), parts_.memory().load(cell.words + kKeyWord));
    };
    for (const Cell& cell : items) {
      for (unsigned chunk = 0; chunk < header_of(cell).chunks; ++chunk) {
        const Location its = location_of_chunk(parts_.memory(), cell.words, header_of(cell), chunk);
        std::erase_if(free, [&](const Cell& other) { return other.location == its; });
      }
    }
    for (const Cell& cell : free) parts_.give(cell);
    for (const Cell& cell : items) enter(parts_, key_of(cell.words, header_of(cell)), cell, recovered);
    end_recovery(parts_);
    return recovered;
  }

 private:
  Change put(const Operation& operation) {
    std::uint64_t value[kMostValueWords] = {};
    const KeyBytes key{operation.key};
    Content content;
    content.key = key.key().data;
    content.key_bytes = key.key().bytes;
    content.value = reinterpret_cast<const std::byte*>(value);
    content.value_bytes = 8 * operation.words;
    content.expiry = operation.expiry;
    const auto decide = [&](const Current& old, Content& next) {
      if (operation.op == Op::add && old.is_there()) return Change::exists;
      if (operation.op == Op::replace && !old.is_there()) return Change::not_found;
      unsigned number = operation.number;
      if (operation.op == Op::increase && old.is_there()) {
        number += static_cast<unsigned>(parts_.memory().load(old.cell.words + old.header.value_at()) / 256);
      }
      for (unsigned i = 0; i < operation.words; ++i) value[i] = value_word(number, i);
      next = content;
      return old.is_there() ? Change::replaced : Change::inserted;
    };
    return store::put(parts_, key.key(), content.header().words(), decide);
  }

  Change set_large(const Operation& operation) {
    const KeyBytes key{operation.key};
    Content content;
    content.key = key.key().data;
    content.key_bytes = key.key().bytes;
    content.value_bytes = 8 * operation.words;
    const auto chunk_words = static_cast<unsigned>(parts_.chunk_words());
    NewItem item;
    if (!reserve_item(parts_, content, (operation.words + chunk_words - 1) / chunk_words, item))
      return Change::no_space;
    visit_value(parts_, item, [&](std::uint64_t* words, std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        parts_.memory().store(words + i, value_word(operation.number, static_cast<unsigned>(first + i)));
      }
    });
    sum_item(parts_, item);
    return store::put(parts_, key.key(), item, [](const Current& old, Content&) {
      return old.is_there() ? Change::replaced : Change::inserted;
    });
  }

  Change evict(unsigned key) {
    const KeyBytes bytes{key};
    const auto candidates = parts_.candidates(bytes.key());
    Glance seen;
    std::uint64_t its_key = 0;
    if (candidates.size == 0 || !glance(parts_.memory(), candidates.cells[0], seen, &its_key)) return Change::not_found;
    const KeyBytes its{its_key};
    const bool is_done = store::evict(parts_, its.key(), candidates.cells[0], seen, [](State) { return true; });
    return is_done ? Change::erased : Change::not_found;
  }

  World& world_;
  ModelParts parts_;
};

// Operations of the store that the table has not, in `Operation::column`. Scenarios with them have one key.
constexpr unsigned kFlush = 100, kPassTime = 101, kEvict = 102, kPlan = 103;

oracle::Operation as_asked(const Operation& operation, unsigned caller, const Shape& shape) {
  oracle::Operation asked;
  asked.op = holdfast::Op::erase;
  asked.step = shape.flush_at;
  asked.key = operation.key;
  asked.caller = caller;
  asked.value = operation.number;
  const bool has_expiry = operation.expiry != 0;
  if (has_expiry) asked.value = state_of(operation.number, operation.expiry);
  switch (operation.op) {
    case Op::set_large:
    case Op::set: asked.op = holdfast::Op::insert_or_assign; break;
    case Op::add: asked.op = holdfast::Op::insert; break;
    case Op::replace: asked.op = holdfast::Op::assign; break;
    case Op::increase: asked.op = holdfast::Op::accumulate; break;
    case Op::erase: asked.op = holdfast::Op::erase; break;
    case Op::find: asked.op = holdfast::Op::find; break;
    case Op::touch:
      asked.op = holdfast::Op::assign;
      asked.column = 2;
      break;
    case Op::evict: asked.column = kEvict; break;
    case Op::flush_all: asked.column = kFlush; break;
    case Op::plan_flush: asked.column = kPlan; break;
    case Op::pass_time: asked.column = kPassTime; break;
  }
  return asked;
}

Status apply_in_store(const oracle::Operation& operation, oracle::State& state) {
  const bool there = state != kAbsent;
  switch (operation.column) {
    case kPlan: return Status::not_run;
    case kFlush: state = kAbsent; return Status::not_run;
    case kPassTime:
      if (there && state >> 32 != 0 && state >> 32 <= operation.value) state = kAbsent;
      if (operation.step != 0 && operation.step <= operation.value) state = kAbsent;  // a flush was planned
      return Status::not_run;
    case kEvict:
      if (operation.answered && operation.status == Status::not_found) return Status::not_found;  // it may always fail
      state = kAbsent;
      return there ? Status::erased : Status::not_found;
    default: return oracle::apply(operation, state);
  }
}

Status status_of(Op op, Change change) {
  if (op == Op::flush_all || op == Op::plan_flush || op == Op::pass_time) return Status::not_run;
  switch (change) {
    case Change::inserted: return Status::inserted;
    case Change::replaced: return Status::updated;
    case Change::exists: return Status::exists;
    case Change::erased: return Status::erased;
    case Change::touched: return op == Op::find ? Status::found : Status::updated;
    case Change::no_space: return Status::no_space;
    case Change::larger:
    case Change::mismatch:
    case Change::not_found: break;
  }
  return Status::not_found;
}

/// Crashes a recovery at each of its accesses.
class RecoveryWatcher : public proof::Watcher {
 public:
  RecoveryWatcher(World& world, std::vector<proof::Words>& images) : world_(world), images_(images) {}
  void before() override {
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (seen_.insert(hash).second) images_.push_back(image);
    });
  }

 private:
  World& world_;
  std::vector<proof::Words>& images_;
  std::unordered_set<std::uint64_t> seen_;
};

class StoreCallers : public proof::Callers, public proof::Watcher {
 public:
  StoreCallers(const Scenario& scenario, Flavour flavour)
      : scenario_(scenario), world_(flavour, scenario.shape), left_(flavour, with_memory(scenario.shape)) {
    set_up();
    world_.set_watcher(this);
  }

  unsigned count() const override { return static_cast<unsigned>(scenario_.callers.size()); }
  void restart() override {
    world_.load(start_);
    world_.set_volatile_part(start_volatile_);
    history_ = begin_;
    std::fill(std::begin(at_), std::end(at_), 0u);
  }
  void run(unsigned caller) override {
    Runner runner(world_);
    for (const Operation& operation : scenario_.callers[caller]) {
      oracle::State read = kAbsent;
      const Change change = runner.run(operation, read);
      oracle::Operation& asked = history_.operations[first_[caller] + at_[caller]];
      asked.status = status_of(operation.op, change);
      asked.read = read;
      asked.answered = true;
      ++at_[caller];
      world_.forget_seen(caller);
    }
  }
  void begin(unsigned caller) override {
    if (at_[caller] == scenario_.callers[caller].size()) return;
    oracle::Operation& asked = history_.operations[first_[caller] + at_[caller]];
    if (asked.invoked) return;
    asked.invoked = true;
    for (std::size_t j = 0; j < history_.operations.size(); ++j) {
      if (history_.operations[j].answered) asked.earlier |= 1u << j;
    }
  }
  void before() override { access(); }
  void resume(unsigned caller) override { world_.set_caller(caller); }
  bool is_blocked(unsigned caller) const override { return world_.is_blocked(caller); }
  std::uint64_t hash() const override { return mix(world_.hash() + mix(history_.hash())); }
  std::string crash() override {
    std::string wrong;
    const std::uint64_t answers = history_.hash();
    world_.durable().images([&](const proof::Words& image, std::uint64_t hash) {
      if (!wrong.empty() || !tried_.insert(mix(hash + answers)).second) return;
      ++counts.images;
      wrong = check(image, true);
    });
    return wrong.empty() ? wrong : "after a crash, " + wrong;
  }
  std::string end() override {
    std::string wrong = check_answers();
    if (wrong.empty()) wrong = crash();
    return wrong;
  }

  proof::CrashCounts counts;

 private:
  void set_up() {
    World& world = world_;
    for (unsigned k = 0; k < scenario_.shape.keys; ++k) begin_.keys.push_back(k);
    begin_.before.assign(begin_.keys.size(), kAbsent);
    begin_.may_be_full = scenario_.may_be_full;
    begin_.apply = apply_in_store;
    Runner runner(world);
    for (const Operation& operation : scenario_.setup) {
      oracle::State read = kAbsent;
      runner.run(operation, read);
      apply_in_store(as_asked(operation, 0, scenario_.shape), begin_.before[operation.key]);
    }
    if (scenario_.shape.flush_at != 0) runner.flush_all_at(scenario_.shape.flush_at);
    world.durable().settle();
    start_ = world.durable().settled();
    start_volatile_ = world.volatile_part();
    for (unsigned caller = 0; caller < count(); ++caller) {
      first_[caller] = static_cast<unsigned>(begin_.operations.size());
      for (const Operation& operation : scenario_.callers[caller]) {
        begin_.operations.push_back(as_asked(operation, caller, scenario_.shape));
      }
    }
  }

  /// Whether the answers agree with each other.
  std::string check_answers() {
    for (unsigned k = 0; k < begin_.keys.size(); ++k) {
      if (history_.allowed(k).empty()) return "the answers contradict each other: " + oracle::describe(history_);
    }
    return {};
  }

  /// Opens an image, also at each access of the opening, and continues with it.
  std::string check(const proof::Words& image, bool crash_recovery) {
    left_.load(image);
    std::vector<proof::Words> images;
    RecoveryWatcher watcher(left_, images);
    if (crash_recovery) left_.set_watcher(&watcher);
    Runner runner(left_);
    ++counts.recoveries;
    const Recovered recovered = runner.recover();
    left_.set_watcher(nullptr);
    if (recovered.damaged != 0) return "an item is damaged";
    if (recovered.newest > left_.volatile_part().newest) return "a number is drawn twice";
    left_.set_caller(1);  // whose fences wait for nothing that recovery has flushed
    std::vector<oracle::State> states;
    for (unsigned k = 0; k < begin_.keys.size(); ++k) {
      states.push_back(runner.find(k));
      const std::vector<oracle::State> allowed = history_.allowed(k);
      if (std::find(allowed.begin(), allowed.end(), states.back()) == allowed.end()) {
        return "key " + std::to_string(k) + " is " + oracle::describe(states.back()) + ", with " +
               oracle::describe(history_);
      }
    }
    for (const oracle::Operation& operation : history_.operations) {
      if (operation.column != kPlan || !operation.answered) continue;
      runner.pass_time(static_cast<unsigned>(operation.value));
      for (unsigned k = 0; k < states.size(); ++k) {
        if (runner.find(k) != kAbsent) return "a planned flush is forgotten";
        states[k] = kAbsent;
      }
    }
    if (const std::string wrong = go_on(runner, states); !wrong.empty()) return wrong;
    for (const proof::Words& within : images) {
      ++counts.crashed_in_recovery;
      if (const std::string wrong = check(within, false); !wrong.empty()) return "in recovery, " + wrong;
    }
    return {};
  }

  /// Erases every key; nothing may come back with another crash. Then as many items fit as there are cells.
  std::string go_on(Runner& runner, const std::vector<oracle::State>& states) {
    oracle::State read = kAbsent;
    for (unsigned k = 0; k < states.size(); ++k) {
      const Change change = runner.run({Op::erase, k, 0}, read);
      if ((change == Change::erased) != (states[k] != kAbsent)) return "an erase answers otherwise than a search";
    }
    std::string wrong;
    left_.durable().images([&](const proof::Words& image, std::uint64_t) {
      if (!wrong.empty()) return;
      World again(left_.flushes() ? Flavour::power : Flavour::process, left_.shape());
      again.load(image);
      Runner other(again);
      other.recover();
      for (unsigned k = 0; k < states.size(); ++k) {
        if (other.find(k) != kAbsent) wrong = "an erased item of key " + std::to_string(k) + " is back";
      }
      if (wrong.empty() && !all_free(again)) wrong = "a cell is neither free nor an item's";
    });
    return wrong;
  }

  /// A store whose index has no memory does not open: after a crash it has.
  static Shape with_memory(Shape shape) {
    shape.entries = kMostKeys;
    return shape;
  }

  static bool all_free(const World& world) {
    const World::Volatile& part = world.volatile_part();
    for (unsigned piece = 0; piece < world.shape().pieces; ++piece) {
      if (part.classes.at(piece) < 0) continue;
      const unsigned step = class_bytes(static_cast<unsigned>(part.classes.at(piece))) / kLineBytes;
      for (unsigned at = 0; at < kPieceLines; at += step) {
        if (!part.free.at(piece * kPieceLines + at)) return false;
      }
    }
    return true;
  }

  const Scenario& scenario_;
  World world_, left_;
  proof::Words start_;
  World::Volatile start_volatile_;
  oracle::History begin_, history_;
  unsigned at_[World::kMostCallers] = {};     ///< the operation that each caller is at
  unsigned first_[World::kMostCallers] = {};  ///< of each caller, in the history
  std::unordered_set<std::uint64_t> tried_;
};

}  // namespace

proof::Verdict explore(const Scenario& scenario, Flavour flavour) {
  StoreCallers callers(scenario, flavour);
  return proof::judge(callers);
}

}  // namespace holdfast::store::model
