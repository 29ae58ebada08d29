// narrow_form.hpp: items of 16 bytes, four to a line: what a lane does with them, and how they are moved.
#pragma once

#include <algorithm>

#include "structures/dramhit/change_queue.hpp"
#include "structures/dramhit/read_queue.hpp"

namespace holdfast::dramhit {

template <LineMemory Memory, LineTile Tile>
class NarrowForm {
 public:
  using Changes = ChangeQueue<NarrowForm, Line*, true>;
  using Task = typename Changes::Task;
  static constexpr const char* kName = Tile::kName;
  struct At {
    Line* line;
    std::uint64_t want;
  };

  explicit NarrowForm(const Format& format) : value_bytes_(format.value_bytes), partitions_(format.partitions) {}

  void set_view(const View& view) {
    geometry_ = view.geometry;
    lines_ = reinterpret_cast<Line*>(view.memory.data());
  }
  /// Hashes `n` rows one after another: several at a time, where the instruction set can.
  void hash_rows(const Rows& rows, std::size_t row, unsigned n, std::uint64_t* __restrict hashes) const {
    if (rows.hashes != nullptr) {
      for (unsigned i = 0; i < n; ++i) hashes[i] = rows.hashes[2 * (row + i)];
      return;
    }
    const std::uint64_t seed = geometry_.seed();
    const std::byte* const keys = rows.keys + row * 8;
    for (unsigned i = 0; i < n; ++i) {
      std::uint64_t key;
      __builtin_memcpy(&key, keys + i * 8, 8);
      hashes[i] = hash_key(key, seed);
    }
  }
  /// Asks for keys of rows [row, end), and for a row's value, in the caller's arrays.
  static void ask_keys(const Rows& rows, std::size_t row, std::size_t end) {
    for (; row < end; row += 64 / sizeof(std::uint64_t)) prefetch<Tile>(rows.keys + row * 8);
  }
  void ask_value(const Rows& rows, std::size_t row) const {
    if (rows.values != nullptr) prefetch<Tile>(rows.values + row * value_bytes_);
  }
  At place(std::uint64_t hash) const { return placer()(hash); }
  auto placer() const {
    return [geometry = geometry_, lines = lines_, partitions = partitions_](std::uint64_t hash) {
      const Place place = geometry.place(hash);
      const std::uint64_t line = partitions == 1 ? place.line : place.line + high(hash, partitions) * kMostDistance;
      return At{lines + line, place.want};
    };
  }
  [[gnu::always_inline]] static void ask_line(const Line* line, Op op) {
    if (changes(op)) {
      prefetch_to_change<Tile>(line);
    } else {
      prefetch<Tile>(line);
    }
  }
  /// Asks for a line for the first time that will be changed.
  [[gnu::always_inline]] void ask_to_change(const Line* line) const {
    again_before_ != kMostDepth ? prefetch_far<Tile>(line) : prefetch_to_change<Tile>(line);
  }
  /// The same for `n` lines that will be read.
  [[gnu::always_inline]] void ask_lines(Line* const* lines, unsigned n) const {
    if (again_before_ != kMostDepth) {
      for (unsigned i = 0; i < n; ++i) prefetch_far<Tile>(lines[i]);
      return;
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < n; ++i) ask_line(lines[i], Op::find);
  }
  void ask_next(Task& task) const {
    if ((task.state.reach & kErases) != 0) [[unlikely]] {  // all but the last
      for (; distance(task.want) + 1 < next_distance_of(task); task.want += kOneLineOn)
        ask_line(++task.line, Op::erase);
    }
    ask_on(task.line, task.want, task.state.op);
  }
  [[gnu::always_inline]] static void ask_on(Line*& line, std::uint64_t& want, Op op) {
    ask_line(++line, op);
    want += kOneLineOn;
  }

  /// What a row gives, as a task keeps it.
  std::uint64_t take(const Rows& rows, std::size_t row) const {
    if (rows.hashes != nullptr) return rows.hashes[2 * row + 1];
    if (rows.values == nullptr) return 0;
    return load_bytes(rows.values + row * value_bytes_, value_bytes_);
  }
  /// Whether that is the row's value and no more.
  bool takes_words(const Rows& rows) const {
    return rows.hashes == nullptr && rows.values != nullptr && value_bytes_ == 8;
  }
  static std::uint64_t take_word(const Rows& rows, std::size_t row) {
    std::uint64_t value;
    __builtin_memcpy(&value, rows.values + row * 8, 8);
    return value;
  }
  void drop(const Task&) {}
  /// The key is erased, although the operation continues: other threads see the erase from here on.
  static unsigned distance_of(const Task& task) { return distance(task.want); }
  static unsigned next_distance_of(const Task& task) { return next_distance(distance(task.want), task.state.reach); }
  static bool is_gone(const Task& task) { return (task.state.reach & kErased) != 0; }

  /// One look at a line.
  [[gnu::always_inline]] LineOutcome run(Task& task, Op op, const Combining& with, Answer& answer) {
    return change(Memory{}, task.line, task.want, task.state.reach, {op, task.given, with}, answer);
  }
  /// An answer's value is a word. Other values are copied by copy_value.
  bool gives_words() const { return value_bytes_ == 8; }
  void copy_value(const Answer& answer, std::byte* to, std::size_t row) const {
    store_bytes(to + row * value_bytes_, answer.value, value_bytes_);
  }

  // Searches on their own.
  static constexpr bool kReadsApart = true;
  unsigned reads() const { return reads_.size(); }
  template <class IdOf>
  [[gnu::always_inline]] void add_reads(const std::uint64_t* hashes, unsigned n, const IdOf& id_of) {
    const auto place = placer();
    Line* lines[kMostDepth];
    const auto place_of = [&](unsigned i) {
      const At at = place(hashes[i]);
      lines[i] = at.line;
      return at;
    };
    reads_.add(n, place_of, id_of);
    ask_lines(lines, n);
  }
  template <class Give, class Missed>
  [[gnu::always_inline]] std::uint64_t drain_reads(std::uint64_t n, const Give& give, const Missed& missed) {
    if (again_before_ == kMostDepth) return reads_.template drain<false>(n, 0, give, missed);
    return reads_.template drain<true>(n, again_before_, give, missed);
  }
  /// After set_view; `old` is the form as it was before.
  void restart_reads(const Geometry& old, const Line* old_lines) {
    reads_.restart([&](const Line* line,
                       std::uint64_t want) { return old.hash_of(static_cast<std::uint64_t>(line - old_lines), want); },
                   [this](std::uint64_t hash) { return place(hash); });
  }
  const Geometry& geometry() const { return geometry_; }
  const Line* lines() const { return lines_; }

  // Growth, and exports.
  static bool move(const View& from, const View* to, std::uint64_t line, std::uint64_t& items) {
    const Memory memory;
    Line* const at = reinterpret_cast<Line*>(from.line(line));
    freeze(memory, at);
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      const Pair pair = load_settled(memory, at, slot);
      if (!is_live(pair.word)) continue;
      ++items;
      if (to == nullptr) continue;
      const Place place = to->geometry.place(from.geometry.hash_of(line, pair.word));
      if (!put_moved(memory, reinterpret_cast<Line*>(to->line(place.line)), place.want, pair.value)) return false;
    }
    return true;
  }
  static void thaw(const View& view, std::uint64_t line) {
    for (unsigned slot = 0; slot < kSlots; ++slot)
      Memory::clear(reinterpret_cast<Line*>(view.line(line)), slot, kFrozen);
  }
  static std::size_t items_of(const View& view, std::uint64_t line, std::uint64_t from, std::byte* keys,
                              std::byte* values, std::uint64_t* hashes, std::size_t space);

 private:
  const std::uint32_t value_bytes_;
  const std::uint64_t partitions_;
  const unsigned again_before_ = again_before();
  Geometry geometry_;
  Line* lines_ = nullptr;
  ReadQueue<Memory, Tile> reads_;
};

template <LineMemory Memory, LineTile Tile>
std::size_t NarrowForm<Memory, Tile>::items_of(const View& view, std::uint64_t line, std::uint64_t from,
                                               std::byte* keys, std::byte* values, std::uint64_t* hashes,
                                               std::size_t space) {
  struct Item {
    std::uint64_t hash, value;
  };
  Item items[kSlots * (kMostDistance + 1)];
  std::size_t size = 0;
  const std::uint64_t first = view.at(line, view.geometry.least_hash(line));
  each_of(Memory{}, reinterpret_cast<Line*>(view.line(first)), [&](unsigned on, const Pair& pair) {
    const std::uint64_t hash = view.geometry.hash_of(line + on, pair.word);
    if (hash >= from) items[size++] = {hash, pair.value};
  });
  // In the order of hashes; a key that came to another slot while we looked is there twice.
  std::sort(items, items + size, [](const Item& a, const Item& b) { return a.hash < b.hash; });
  const auto same = [](const Item& a, const Item& b) { return a.hash == b.hash; };
  size = std::min(static_cast<std::size_t>(std::unique(items, items + size, same) - items), space);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t key = view.geometry.key_of(items[i].hash);
    __builtin_memcpy(keys + i * 8, &key, 8);
    if (values != nullptr) store_bytes(values + i * view.value_bytes, items[i].value, view.value_bytes);
    hashes[i] = items[i].hash;
  }
  return size;
}

}  // namespace holdfast::dramhit
