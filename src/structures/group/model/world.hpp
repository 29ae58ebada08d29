// world.hpp: group hashing tables over words that know what a crash may leave of them: the shipped protocol, access by access. Rule 24.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proof/world.hpp"
#include "structures/group/table.hpp"

namespace holdfast::group::model {

enum class Flavour : std::uint8_t { process, power };

/// The step that is left out; `count`: none.
inline Step left_out = Step::count;

class World;

class ModelMemory {
 public:
  static constexpr unsigned kReadAttempts = 2;
  explicit ModelMemory(World& world) : world_(world) {}
  static bool keeps(Step step) { return step != left_out; }
  static void prefetch(const void*) {}
  std::uint64_t load(const std::uint64_t* from) const;
  void store(std::uint64_t* to, std::uint64_t value) const;
  void flush(const void* from, std::size_t bytes) const;
  void fence() const;
  std::uint32_t begin_read(const VersionLock* lock) const;
  bool end_read(const VersionLock* lock, std::uint32_t version) const;
  void lock(VersionLock* lock) const;
  void unlock(VersionLock* lock) const;

 private:
  void wait_for(const VersionLock* lock) const;
  World& world_;
};
static_assert(structures::PersistentMemory<ModelMemory, Step>);

/// A root word, which stands for the pool's directory: 0 names the first array of cells, 1 the second, which is larger. Each word is a line
/// apart: a crash may leave any of the stores that no fence has followed.
class World : public proof::World {
 public:
  World(Flavour flavour, const Shape& first, const Shape& second, std::uint64_t seed);

  std::uint64_t* root() { return durable_.words(); }
  const View& view() { return views_[*root() != 0]; }  ///< of the array that the root names
  const View& larger() const { return views_[1]; }
  void load(const proof::Words& image);
  using proof::World::load;
  std::uint64_t hash() const;
  bool is_blocked(unsigned caller) const { return waits_[caller] != nullptr && (*waits_[caller] & 1) != 0; }

  std::uint64_t flushes = 0, fences = 0;  ///< since the beginning

 private:
  friend class ModelMemory;
  std::array<View, 2> views_;
  std::vector<VersionLock> locks_;
  std::array<const VersionLock*, kMostCallers> waits_ = {};
};

}  // namespace holdfast::group::model
