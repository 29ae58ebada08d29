// wide_form.cpp: searches and changes of records. The order of a write: the bit `writing`, the words, the next version.
#include "structures/dramhit/wide_form.hpp"

#include <sched.h>

#include "structures/dramhit/lane_impl.hpp"

namespace holdfast::dramhit {
namespace {

using Word = WideForm::Word;

// The control word: kUsed, kLive, kLock and kFrozen as in a slot (word.hpp); then
constexpr Word kWriting = 32;   // bit 5: a thread writes the record
constexpr Word kVersion = 256;  // bits 8..31: how often it was written
constexpr Word kVersions = Word{0xff'ffff} << 8;
constexpr unsigned kReachShift = 32;  // bits 32..39: how far keys lie whose search begins here
constexpr Word kReach = Word{0xff} << kReachShift;
constexpr unsigned kPrintShift = 40;                  // bits 40..63: of the key's hash
constexpr Word kAnybodys = kLock | kFrozen | kReach;  // may change during a write

Word print_of(std::uint64_t hash) { return hash << kPrintShift; }
Word load(const Word* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
void store(Word* at, Word value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
bool swap(Word* at, Word seen, Word next) {
  return __atomic_compare_exchange_n(at, &seen, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

unsigned reach_of(Word control) { return static_cast<unsigned>((control & kReach) >> kReachShift); }

/// Lets keys whose search begins at this record lie so far from it.
void raise(Word* at, unsigned distance) {
  for (Word now = load(at); reach_of(now) < distance; now = load(at)) {  // ends: it only rises
    if (swap(at, now, (now & ~kReach) | Word{distance} << kReachShift)) return;
  }
}

/// Ends a write: the record's next version, with the bits that others have set meanwhile.
void end_write(Word* at, Word seen, Word state) {
  const Word version = (seen + kVersion) & kVersions;
  for (;;) {  // ends: the others set each of their bits once
    const Word now = load(at);
    if (swap(at, now, (now & kAnybodys) | version | state)) return;
  }
}

}  // namespace

WideForm::WideForm(const Format& format)
    : format_(format),
      key_words_(key_words(format)),
      value_words_(value_words(format)),
      stride_(record_bytes(format) / 8),
      kept_(kMostDepth + Changes::kBehind + 1) {
  for (std::uint64_t i = 0; i < kept_.size(); ++i) free_.push_back(i);
}

void WideForm::set_view(const View& view) {
  geometry_ = view.geometry;
  base_ = reinterpret_cast<Word*>(view.memory.data());
}

std::uint64_t WideForm::hash(const Rows& rows, std::size_t row) const {
  const std::byte* const key = rows.keys + row * format_.key_bytes;
  if (key_words_ == 1) return hash_key(load_bytes(key, 8), geometry_.seed());
  return hash_words(static_cast<unsigned>(key_words_), geometry_.seed(),
                    [&](unsigned i) { return load_bytes(key + i * 8, 8); });
}

void WideForm::ask_line(const Word* at, Op op) const {
  for (std::uint64_t word = 0; word < stride_; word += 8) {
    if (changes(op)) {
      prefetch_to_change<WideForm>(at + word);
    } else {
      prefetch<WideForm>(at + word);
    }
  }
}

void WideForm::ask_on(Word*& line, std::uint64_t& want, Op op) const {
  line += stride_;
  ++want;
  ask_line(line, op);
}

std::uint64_t WideForm::take(const Rows& rows, std::size_t row) {
  const std::uint64_t i = free_.back();
  free_.pop_back();
  Kept& kept = kept_[i];
  std::memcpy(kept.key, rows.keys + row * format_.key_bytes, format_.key_bytes);
  if (rows.values == nullptr || value_words_ == 0) return i;
  kept.value[value_words_ - 1] = 0;
  std::memcpy(kept.value, rows.values + row * format_.value_bytes, format_.value_bytes);
  return i;
}

void WideForm::copy_value(const Answer& answer, std::byte* to, std::size_t row) const {
  std::byte* const at = to + row * format_.value_bytes;
  const bool read = answer.value != 0;
  if (read) std::memcpy(at, out_, format_.value_bytes);
  if (!read) std::memset(at, 0, format_.value_bytes);
}

/// Copies the value to out_ where the record is the key's, and live.
WideForm::Look WideForm::look(const Word* at, std::uint64_t hash, const Kept& kept) {
  const Word control = load(at);
  if ((control & kWriting) != 0) return {control, false, true};
  if ((control & kUsed) == 0 || control >> kPrintShift != print_of(hash) >> kPrintShift) return {control, false, false};
  bool mine = true;
  for (std::uint64_t i = 0; i < key_words_; ++i) mine &= load(at + 1 + i) == kept.key[i];
  for (std::uint64_t i = 0; mine && i < value_words_; ++i) out_[i] = load(at + 1 + key_words_ + i);
  const bool same = ((load(at) ^ control) & ~kAnybodys) == 0;
  return {control, mine, !same};
}

void WideForm::first_value(const Change& change, const Kept& kept, Word* value) const {
  Combining alone = change.with;
  alone.alone = true;
  const bool scaled = change.op == Op::accumulate && change.with.scale != 1;
  for (std::uint64_t i = 0; i < value_words_; ++i) {
    value[i] = scaled ? combine_word(0, kept.value[i], alone) : kept.value[i];
  }
}

LineOutcome WideForm::change_record(Word* at, const Look& seen, const Task& task, const Combining& with,
                                    Answer& answer) {
  const Kept& kept = kept_[task.given];
  const Change change{task.state.op, 0, with};
  const Next next = decide<WideForm>(change, is_live(seen.control), 0, answer);
  answer.value = is_live(seen.control) && reads_value(change.op);  // out_ has it
  if (next.act == Act::keeps) return LineOutcome::done;
  if ((seen.control & kFrozen) != 0) return LineOutcome::frozen;
  if (!swap(at, seen.control, seen.control | kWriting)) return LineOutcome::again;
  Word* const value = at + 1 + key_words_;
  const bool combines = change.op == Op::accumulate && is_live(seen.control);
  if (next.act != Act::removes) {
    Word fresh[kMostWords];
    first_value(change, kept, fresh);
    for (std::uint64_t i = 0; i < value_words_; ++i) {
      store(value + i, combines ? combine_word(out_[i], kept.value[i], change.with) : fresh[i]);
    }
    if (!is_live(seen.control) && reads_value(change.op)) {
      std::copy_n(fresh, value_words_, out_);
      answer.value = 1;
    }
  }
  end_write(at, seen.control, print_of(task.hash) | kUsed | (next.act == Act::removes ? 0 : kLive));
  return LineOutcome::done;
}

LineOutcome WideForm::run(Task& task, Op, const Combining& with, Answer& answer) {
  const Kept& kept = kept_[task.given];
  const Look seen = look(task.line, task.hash, kept);
  if (seen.busy) return LineOutcome::again;
  if (seen.mine) return change_record(task.line, seen, task, with, answer);
  if (task.want == 0) task.state.reach = reach_of(seen.control);
  if (task.want < task.state.reach) return LineOutcome::next;
  if (!(Change{task.state.op, 0, with}.adds())) {
    answer = {Status::not_found, 0};
    return LineOutcome::done;
  }
  const auto asked = static_cast<unsigned>(task.want);
  return add(task.line - asked * stride_, asked, task, with, answer);
}

LineOutcome WideForm::add(Word* home, unsigned asked, const Task& task, const Combining& with, Answer& answer) {
  if ((__atomic_fetch_or(home, kLock, __ATOMIC_ACQ_REL) & kLock) != 0) return LineOutcome::again;
  const LineOutcome outcome = add_holding(home, asked, task, with, answer);
  __atomic_fetch_and(home, ~kLock, __ATOMIC_ACQ_REL);
  return outcome;
}

/// As add_holding in protocol/change.hpp: no other thread adds this key now.
LineOutcome WideForm::add_holding(Word* home, unsigned asked, const Task& task, const Combining& with, Answer& answer) {
  const Kept& kept = kept_[task.given];
  Word* free = nullptr;
  Word free_control = 0;
  const auto take_if_free = [&](Word* at, Word control) {
    if (free != nullptr || (control & (kLive | kWriting | kFrozen)) != 0) return;
    free = at;
    free_control = control;
  };
  const unsigned reach = reach_of(load(home));
  unsigned at_free = 0;
  for (unsigned on = 0; on <= reach || free == nullptr; ++on) {
    if (on > kMostDistance) return LineOutcome::out_of_reach;
    if (on > asked) return LineOutcome::next;
    Word* const at = home + on * stride_;
    const Look seen = look(at, task.hash, kept);
    if (seen.busy && (on <= reach)) return LineOutcome::again;
    if (seen.mine) return change_record(at, seen, task, with, answer);
    if (free == nullptr) at_free = on;
    if (!seen.busy) take_if_free(at, seen.control);
  }
  raise(home, at_free);
  // The lock's own bit may have come into the word since it was read.
  if (free == home) free_control = load(free);
  if ((free_control & (kLive | kWriting)) != 0) return LineOutcome::again;
  if ((free_control & kFrozen) != 0) return LineOutcome::frozen;
  if (!swap(free, free_control, free_control | kWriting)) return LineOutcome::again;
  Word value[kMostWords];
  first_value({task.state.op, 0, with}, kept, value);
  for (std::uint64_t i = 0; i < key_words_; ++i) store(free + 1 + i, kept.key[i]);
  for (std::uint64_t i = 0; i < value_words_; ++i) store(free + 1 + key_words_ + i, value[i]);
  std::copy_n(value, value_words_, out_);
  answer = {Status::inserted, reads_value(task.state.op)};
  end_write(free, free_control, print_of(task.hash) | kUsed | kLive);
  return LineOutcome::done;
}

// Growth, and exports.

namespace {

struct Item {
  std::uint64_t hash;
  Word words[16];
};

std::uint64_t words_of(const View& view) { return view.key_bytes / 8 + (view.value_bytes + 7) / 8; }

std::uint64_t hash_of(const View& view, const Word* key) {
  if (view.key_bytes == 8) return hash_key(key[0], view.geometry.seed());
  return hash_words(view.key_bytes / 8, view.geometry.seed(), [&](unsigned i) { return key[i]; });
}

/// Reads a record whole; false where it holds nothing.
bool read_whole(const View& view, const Word* at, Item& item) {
  for (;;) {  // ends with the write that it meets
    const Word control = load(at);
    if ((control & kWriting) != 0) {
      sched_yield();
      continue;
    }
    if (!is_live(control)) return false;
    for (std::uint64_t i = 0; i < words_of(view); ++i) item.words[i] = load(at + 1 + i);
    if (((load(at) ^ control) & ~kAnybodys) != 0) continue;
    item.hash = hash_of(view, item.words);
    return true;
  }
}

bool put(const View& to, const Item& item) {
  std::uint64_t i = to.geometry.home(item.hash);
  for (unsigned on = 0; on <= kMostDistance; ++on, ++i) {
    Word* const at = reinterpret_cast<Word*>(to.line(i));
    const Word control = load(at);
    if ((control & (kUsed | kWriting)) == 0 && swap(at, control, control | kWriting)) {
      raise(reinterpret_cast<Word*>(to.line(i - on)), on);
      for (std::uint64_t word = 0; word < words_of(to); ++word) store(at + 1 + word, item.words[word]);
      end_write(at, 0, print_of(item.hash) | kUsed | kLive);
      return true;
    }
  }
  return false;
}

}  // namespace

bool WideForm::move(const View& from, const View* to, std::uint64_t line, std::uint64_t& items) {
  Word* const at = reinterpret_cast<Word*>(from.line(line));
  __atomic_fetch_or(at, kFrozen, __ATOMIC_ACQ_REL);
  Item item;
  if (!read_whole(from, at, item)) return true;
  ++items;
  return to == nullptr || put(*to, item);
}

void WideForm::thaw(const View& view, std::uint64_t line) {
  __atomic_fetch_and(reinterpret_cast<Word*>(view.line(line)), ~kFrozen, __ATOMIC_ACQ_REL);
}

std::size_t WideForm::items_of(const View& view, std::uint64_t line, std::uint64_t from, std::byte* keys,
                               std::byte* values, std::uint64_t* hashes, std::size_t space) {
  Item items[kMostDistance + 1];
  std::size_t size = 0;
  unsigned reach = 0;
  for (unsigned on = 0; on <= reach; ++on) {
    const Word* const at = reinterpret_cast<const Word*>(view.line(line + on));
    Item& item = items[size];
    if (read_whole(view, at, item) && view.geometry.home(item.hash) == line && item.hash >= from) ++size;
    if (on == 0) reach = reach_of(load(at));
  }
  std::sort(items, items + size, [&](const Item& a, const Item& b) {
    return a.hash != b.hash ? a.hash < b.hash : std::memcmp(a.words, b.words, view.key_bytes) < 0;
  });
  const auto same = [&](const Item& a, const Item& b) { return std::memcmp(a.words, b.words, view.key_bytes) == 0; };
  size = static_cast<std::size_t>(std::unique(items, items + size, same) - items);
  size = std::min(size, space);
  for (std::size_t i = 0; i < size; ++i) {
    std::memcpy(keys + i * view.key_bytes, items[i].words, view.key_bytes);
    if (values != nullptr) {
      std::memcpy(values + i * view.value_bytes, items[i].words + view.key_bytes / 8, view.value_bytes);
    }
    hashes[i] = items[i].hash;
  }
  return size;
}

const Engine& wide_engine() {
  static const EngineFor<WideForm, void> engine;
  return engine;
}

}  // namespace holdfast::dramhit
