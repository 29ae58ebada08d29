// world.hpp: a log over words that know what a crash may leave of them: the shipped protocol, access by access. Rule 24.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/hash.hpp"
#include "log/protocol/transaction.hpp"
#include "proof/world.hpp"

namespace holdfast::log::model {

enum class Flavour : std::uint8_t { process, power, gpu };

/// The step that is left out; `count`: none.
inline Step left_out = Step::count;

inline constexpr unsigned kMostWords = 16;  ///< of an entry

class World;

/// The model's Memory. A word of the arena holds 4 bytes, so that a crash may part any two of them.
class ModelMemory {
 public:
  using Word = std::uint64_t;
  explicit ModelMemory(World& world) : world_(world) {}
  static bool keeps(Step step) { return step != left_out; }
  std::uint32_t load(const Word* word) const;
  void store(Word* word, std::uint32_t value) const;
  void flush(const void* address, std::size_t bytes) const;
  void flush_strided(const Word* first, std::uint32_t words, std::uint32_t stride) const;
  void fence() const;
  std::uint32_t shown(const std::uint32_t* word) const;
  void show(std::uint32_t* word, std::uint32_t value) const;
  void take(std::uint32_t* hold) const;
  void release(std::uint32_t* hold) const { *hold = 0; }

 private:
  World& world_;
};
static_assert(LogMemory<ModelMemory>);

class World : public proof::World {
 public:
  World(Flavour flavour, const LogShape& shape, unsigned data_words);

  View<ModelMemory> view();
  std::uint64_t* data() { return durable_.words() + data_at_; }
  void load(const proof::Words& image);  ///< durable, and nothing of it is shown
  using proof::World::load;
  std::uint64_t hash() const;
  bool is_blocked(unsigned caller) const { return waits_[caller] != nullptr && *waits_[caller] != 0; }
  /// What the log says of a place; false if an entry is torn: each has `words` words, value × 16 + its number.
  bool list(std::uint64_t place, unsigned words, std::vector<std::uint32_t>& values);

 private:
  friend class ModelMemory;
  const LogShape shape_;
  unsigned tails_at_, entries_at_, data_at_;
  std::vector<std::uint32_t> shown_, holds_;
  std::array<const std::uint32_t*, kMostCallers> waits_ = {};
};

}  // namespace holdfast::log::model
