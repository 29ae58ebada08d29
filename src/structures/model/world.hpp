// world.hpp: persistent hash tables over words that know what a crash may leave of them: the shipped protocols, access by access. Rule 24.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "proof/world.hpp"
#include "structures/persistent_memory.hpp"

namespace holdfast::structures::model {

enum class Flavour : std::uint8_t { process, power };

/// Stores to which words a crash keeps in order.
enum class Lines : std::uint8_t {
  of_words,  ///< none: a structure that relies on words alone
  real       ///< those to the eight words of a line
};

/// The step of a protocol that is left out; `count`: none.
template <class Step>
inline Step left_out = Step::count;

/// A root word, which stands for the pool's directory: 0 names the first array of cells, 1 the second, which is larger.
template <class View>
class World : public proof::World {
 public:
  using Shape = decltype(View::shape);

  World(Flavour flavour, Lines lines, const Shape& first, const Shape& second, std::uint64_t seed)
      : proof::World(flavour == Flavour::process ? proof::Stores::all : proof::Stores::by_line,
                     plan_of(lines, first, second)),
        locks_(first.locks() + second.locks()) {
    std::uint64_t* const words = durable_.words() + kRootWords;
    views_[0] = {first, seed, words, locks_.data()};
    views_[1] = {second, seed, words + first.words(), locks_.data() + first.locks()};
  }

  std::uint64_t* root() { return durable_.words(); }
  const View& view() { return views_[*root() != 0]; }  ///< of the array that the root names
  const View& larger() const { return views_[1]; }
  void load(const proof::Words& image) {
    restart(image);
    std::fill(locks_.begin(), locks_.end(), 0u);
    waits_ = {};
  }
  using proof::World::load;
  std::uint64_t hash() const {
    std::uint64_t hash = durable_.hash();
    for (const VersionLock lock : locks_) hash = mix(hash + lock);
    for (unsigned caller = 0; caller < kMostCallers; ++caller) hash = mix(hash + seen(caller));
    return hash;
  }
  bool is_blocked(unsigned caller) const { return waits_[caller] != nullptr && (*waits_[caller] & 1) != 0; }

  void wait_for(const VersionLock* lock) {
    waits_[caller()] = lock;
    do {
      access();  // the first access of a caller is made at once, even if the lock is held
    } while ((*lock & 1) != 0);
    waits_[caller()] = nullptr;
  }

  std::uint64_t flushes = 0, fences = 0;  ///< since the beginning

 private:
  static constexpr unsigned kRootWords = 8;
  static proof::ArenaPlan plan_of(Lines lines, const Shape& first, const Shape& second) {
    proof::ArenaPlan plan;
    plan.words = static_cast<unsigned>(kRootWords + first.words() + second.words());
    if (lines == Lines::real) return plan;
    plan.lines.resize(plan.words);
    std::iota(plan.lines.begin(), plan.lines.end(), std::uint16_t{0});
    return plan;
  }

  std::array<View, 2> views_;
  std::vector<VersionLock> locks_;
  std::array<const VersionLock*, kMostCallers> waits_ = {};
};

template <class View, class Step>
class ModelMemory {
 public:
  static constexpr unsigned kReadAttempts = 2;
  explicit ModelMemory(World<View>& world) : world_(world) {}
  static bool keeps(Step step) { return step != left_out<Step>; }
  static void prefetch(const void*) {}
  std::uint64_t load(const std::uint64_t* from) const { return world_.load(from); }
  void store(std::uint64_t* to, std::uint64_t value) const { world_.store(to, value); }
  void flush(const void* from, std::size_t bytes) const {
    ++world_.flushes;
    world_.flush(from, bytes);
  }
  void fence() const {
    ++world_.fences;
    world_.fence();
  }
  std::uint32_t begin_read(const VersionLock* lock) const {
    if (keeps(Step::wait_for_writer)) {
      world_.wait_for(lock);
    } else {
      world_.access();
    }
    world_.note(*lock);
    return *lock;
  }
  bool end_read(const VersionLock* lock, std::uint32_t version) const {
    if (!keeps(Step::validate_read)) return true;
    return world_.peek(lock) == version;
  }
  void lock(VersionLock* lock) const {
    world_.wait_for(lock);
    *lock |= 1;
    world_.note(*lock);
  }
  void unlock(VersionLock* lock) const {
    world_.access();
    ++*lock;
    world_.note(*lock);
  }

 private:
  World<View>& world_;
};

}  // namespace holdfast::structures::model
