// wide_form.hpp: items of more than 16 bytes, each in a record with a version. DRAMHiT §3 "Atomicity".
//
// A record's control word counts its writes; who writes sets a bit of it by compare-and-swap, and who reads looks at it before
// and after, and again if it changed. Keys are added under the lock of the record where their search begins, always: so a key
// has one record at most, live or erased, and an erased one may be taken by any key at once.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "structures/dramhit/change_queue.hpp"
#include "structures/dramhit/wide_record.hpp"

namespace holdfast::dramhit {

class WideForm {
 public:
  using Word = std::uint64_t;
  using Changes = ChangeQueue<WideForm, Word*, false>;
  using Task = Changes::Task;
  static constexpr const char* kName = "records";
  struct At {
    Word* line;
    std::uint64_t want;  ///< how far from where the search begins
  };

  explicit WideForm(const Format& format);

  void set_view(const View& view);
  std::uint64_t hash(const Rows& rows, std::size_t row) const;
  void hash_rows(const Rows& rows, std::size_t row, unsigned n, std::uint64_t* hashes) const {
    for (unsigned i = 0; i < n; ++i) hashes[i] = hash(rows, row + i);
  }
  static void ask_keys(const Rows&, std::size_t, std::size_t) {}
  static void ask_value(const Rows&, std::size_t) {}
  At place(std::uint64_t hash) const { return {record(geometry_.home(hash)), 0}; }
  auto placer() const {
    return [this](std::uint64_t hash) { return place(hash); };
  }
  void ask_line(const Word* at, Op op) const;
  void ask_to_change(const Word* at) const { ask_line(at, Op::insert); }
  void ask_next(Task& task) const { ask_on(task.line, task.want, task.state.op); }
  void ask_on(Word*& line, std::uint64_t& want, Op op) const;
  /// Copies a row's key and value, since the caller's arrays may go; where they are.
  std::uint64_t take(const Rows& rows, std::size_t row);
  static bool takes_words(const Rows&) { return false; }
  static std::uint64_t take_word(const Rows&, std::size_t) { return 0; }
  static unsigned distance_of(const Task& task) { return static_cast<unsigned>(task.want); }
  static unsigned next_distance_of(const Task& task) { return distance_of(task) + 1; }
  static bool is_gone(const Task&) { return false; }
  void drop(const Task& task) { free_.push_back(task.given); }

  LineOutcome run(Task& task, Op op, const Combining& with, Answer& answer);
  static bool gives_words() { return false; }
  void copy_value(const Answer& answer, std::byte* to, std::size_t row) const;

  static constexpr bool kReadsApart = false;  ///< searches wait among changes
  unsigned reads() const { return 0; }
  template <class Give, class Missed>
  std::uint64_t drain_reads(std::uint64_t, const Give&, const Missed&) {
    return 0;
  }
  const Geometry& geometry() const { return geometry_; }
  const Word* lines() const { return base_; }

  static bool move(const View& from, const View* to, std::uint64_t line, std::uint64_t& items);
  static void thaw(const View& view, std::uint64_t line);
  static std::size_t items_of(const View& view, std::uint64_t line, std::uint64_t from, std::byte* keys,
                              std::byte* values, std::uint64_t* hashes, std::size_t space);

 private:
  static constexpr unsigned kMostWords = 8;
  struct Kept {
    Word key[kMostWords];
    Word value[kMostWords];
  };
  /// What a look at a record found.
  struct Look {
    Word control = 0;
    bool mine = false, busy = false;
  };

  Word* record(std::uint64_t i) const { return base_ + i * stride_; }
  Look look(const Word* at, std::uint64_t hash, const Kept& kept);
  LineOutcome change_record(Word* at, const Look& seen, const Task& task, const Combining& with, Answer& answer);
  LineOutcome add(Word* home, unsigned asked, const Task& task, const Combining& with, Answer& answer);
  LineOutcome add_holding(Word* home, unsigned asked, const Task& task, const Combining& with, Answer& answer);
  void first_value(const Change& change, const Kept& kept, Word* value) const;

  const Format format_;
  const std::uint64_t key_words_, value_words_, stride_;  ///< in words
  Geometry geometry_;
  Word* base_ = nullptr;
  std::vector<Kept> kept_;
  std::vector<std::uint64_t> free_;  ///< of them
  Word out_[kMostWords] = {};        ///< the value that the last answer read
};

}  // namespace holdfast::dramhit
