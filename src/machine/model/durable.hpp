// durable.hpp: a pool of a few hundred words that knows what a crash at this moment could leave of it. RULES.md 24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/hash.hpp"
#include "index/slot.hpp"

namespace holdfast::machine::model {

/// How stores become durable.
enum class Flavour : std::uint8_t {
  process,  ///< every store survives (kill -9)
  power,    ///< a CPU and a power cut: of the stores to a line that no fence has followed, any prefix
  gpu,      ///< a GPU's posted writes: of the words that no fence of their writer has followed, any subset
  resident  ///< the same, and slots are read from copies, which are shown what is durable (GPHash §3.3)
};
constexpr bool is_gpu(Flavour flavour) { return flavour == Flavour::gpu || flavour == Flavour::resident; }
const char* name(Flavour flavour);

/// Where things lie in the arena, in words. A line of slots holds two words, and each word of the heap has a line of its own:
/// less order than real lines give, so every real image is among those tried.
struct Regions {
  unsigned words = 0;
  unsigned slots_begin = 0;  ///< the aside slot, then those of all levels; before them the directory, a line a word
  unsigned slot_words = 2;
  unsigned heap_begin = 0;  ///< to the end
  unsigned cell_words = 0;  ///< 0: no heap; of a slab, with variable-length pairs
  bool pairs = false;       ///< variable-length ones: a slab is their directory, and slots name cells in the others
};

inline constexpr std::uint64_t kMaxImages = 4096;  ///< 2^12 subsets; beyond that they are sampled
inline constexpr unsigned kSampledImages = 1000;

/// What one word contributes to a hash of many.
inline std::uint64_t word_hash(std::uint64_t at, std::uint64_t value) {
  return value == 0 ? 0 : mix(value + mix(at + 0x1234'5678'9abc));
}

using Image = std::vector<std::uint64_t>;

class Durable {
 public:
  Durable(Flavour flavour, const Regions& regions);

  std::uint64_t* words() { return visible_.data(); }
  const Regions& regions() const { return regions_; }
  bool holds(const void* address) const {
    return address >= visible_.data() && address < visible_.data() + regions_.words;
  }

  /// The arena is `image`, all of it durable.
  void load(const Image& image);
  const Image& settled() const { return base_; }  ///< what is certainly durable
  bool all_settled() const { return pending_.empty(); }
  void settle();  ///< everything becomes durable

  void store(unsigned caller, std::uint64_t* word, std::uint64_t value);
  void observe(unsigned caller, const std::uint64_t* word);
  void flush(unsigned caller, const void* address, std::size_t bytes);
  void fence(unsigned caller);

  /// Of all that matters to the future: what is durable, what could be, and who has flushed it.
  std::uint64_t hash() const;

  /// Calls `visit(image, hash)` for every image that a crash now could leave. Words of cells that no slot names are zero in it,
  /// for nobody reads them. False if there were too many, and they were sampled.
  bool images(const std::function<void(const Image&, std::uint64_t)>& visit) const;

 private:
  struct Store {
    std::uint16_t line, word;
    std::uint8_t flushed;  // a bit for each caller that flushed it (GPU: wrote or read it) and has not fenced since
    std::uint64_t value;
  };
  unsigned line_of(unsigned word) const {
    const bool in_slot = word >= regions_.slots_begin && word < regions_.heap_begin;
    return flavour_ == Flavour::power && in_slot ? word & ~1u : word;
  }
  unsigned index(const std::uint64_t* word) const { return static_cast<unsigned>(word - visible_.data()); }
  void settle_word(unsigned word, std::uint64_t value);
  std::vector<bool> named_words(const Image& image) const;
  void visit_heap(Image& image, const std::vector<std::uint16_t>& lines,
                  const std::function<void(const Image&, std::uint64_t)>& visit, bool& complete) const;
  void apply(Image& image, std::uint16_t line, unsigned stores) const;
  unsigned stores_to(std::uint16_t line) const;

  Flavour flavour_;
  Regions regions_;
  std::vector<std::uint64_t> visible_;
  Image base_;
  std::uint64_t base_hash_ = 0;
  std::vector<Store> pending_;
};

}  // namespace holdfast::machine::model
