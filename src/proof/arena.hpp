// arena.hpp: a few hundred words that know what a crash at this moment could leave of them. Rule 24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/hash.hpp"

namespace holdfast::proof {

/// Which of the stores that no fence of their writer has followed a crash may leave.
enum class Stores : std::uint8_t {
  all,      ///< every one survives (kill -9)
  by_line,  ///< a CPU and a power cut: of those to a line, any prefix
  by_word   ///< a GPU's posted writes: of those to a word, any prefix, and so any subset of the words
};

using Words = std::vector<std::uint64_t>;

/// What the words of an arena are.
struct ArenaPlan {
  unsigned words = 0;
  /// `by_line`: of each word the first of its line; empty: lines of 64 bytes. Shorter lines than real ones give less order, so every
  /// real image is among those tried.
  std::vector<std::uint16_t> lines = {};
  /// Words here that are stored as they durably are change nothing, whether the store arrives or not: it is not kept.
  unsigned rewritten_begin = 0, rewritten_end = 0;
  /// Words from here on are read after a crash only where `is_read` says so, given those before: the others are zero in images.
  unsigned rest_begin = ~0u;
  std::function<std::vector<bool>(const Words&)> is_read = nullptr;  ///< of the words from `rest_begin` on
};

inline constexpr std::uint64_t kMaxImages = 4096;  ///< 2^12 subsets; beyond that they are sampled
inline constexpr unsigned kSampledImages = 1000;

/// What one word contributes to a hash of many.
inline std::uint64_t word_hash(std::uint64_t at, std::uint64_t value) {
  return value == 0 ? 0 : mix(value + mix(at + 0x1234'5678'9abc));
}

class Arena {
 public:
  Arena(Stores stores, ArenaPlan plan);

  std::uint64_t* words() { return visible_.data(); }
  unsigned size() const { return plan_.words; }
  bool holds(const void* address) const {
    return address >= visible_.data() && address < visible_.data() + plan_.words;
  }

  /// The arena is `image`, all of it durable.
  void load(const Words& image);
  const Words& settled() const { return base_; }  ///< what is certainly durable
  bool all_settled() const { return pending_.empty(); }
  void settle();  ///< everything becomes durable

  void store(unsigned caller, std::uint64_t* word, std::uint64_t value);
  void observe(unsigned caller, const std::uint64_t* word);
  void flush(unsigned caller, const void* address, std::size_t bytes);
  void fence(unsigned caller);

  /// Of all that matters to the future: what is durable, what could be, and who has flushed it.
  std::uint64_t hash() const;

  /// Calls `visit(image, hash)` for every image that a crash now could leave. False if there were too many, and they were sampled.
  bool images(const std::function<void(const Words&, std::uint64_t)>& visit) const;

 private:
  struct Store {
    std::uint16_t line, word;
    std::uint8_t flushed;  // a bit for each caller that flushed it (by word: wrote or read it) and has not fenced since
    std::uint64_t value;
  };
  unsigned line_of(unsigned word) const { return stores_ == Stores::by_line ? plan_.lines[word] : word; }
  unsigned index(const std::uint64_t* word) const { return static_cast<unsigned>(word - visible_.data()); }
  void settle_word(unsigned word, std::uint64_t value);
  void visit_rest(Words& image, const std::vector<std::uint16_t>& lines,
                  const std::function<void(const Words&, std::uint64_t)>& visit, bool& complete) const;
  void apply(Words& image, std::uint16_t line, unsigned stores) const;
  unsigned stores_to(std::uint16_t line) const;

  Stores stores_;
  ArenaPlan plan_;
  std::vector<std::uint64_t> visible_;
  Words base_;
  std::uint64_t base_hash_ = 0;
  std::vector<Store> pending_;
};

}  // namespace holdfast::proof
