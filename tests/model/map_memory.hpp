// map_memory.hpp: the memory policy of maps and directories of a GPU's caches, over weak memory; and their steps, left out one by one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "proof/weak_memory.hpp"
#include "structures/gphash/model/world.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"

namespace holdfast::gphash::model {

using proof::Executions;
using proof::kMostActors;
using proof::kMostWords;
using proof::Play;
using proof::run_all;
using proof::weak;
using proof::WeakMemory;

/// The policy: of `words` only the addresses matter.
struct MapMemory {
  static bool keeps(gphash::Step step) { return step != left_out; }
  static std::uint64_t* word(unsigned at) { return words + at; }
  static unsigned where(const std::uint64_t* word) { return static_cast<unsigned>(word - words); }
  std::uint64_t peek(const std::uint64_t* word) const { return weak->load(where(word), true); }
  void poke(std::uint64_t* word, std::uint64_t value) const { weak->store(where(word), value, true); }
  bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    return weak->swap(where(word), seen, value);
  }
  void fence() const { weak->fence(); }
  void fence_readers() const { weak->fence(); }
  static inline std::uint64_t words[kMostWords] = {};
};
static_assert(gphash::CacheMapMemory<MapMemory, std::uint64_t> && gphash::KeyDirectoryMemory<MapMemory>);

/// Not 0: something goes wrong without a step.
inline std::uint64_t wrong_without(gphash::Step step, const Play& play) {
  left_out = step;
  const Executions seen = run_all(play, true);
  left_out = gphash::Step::count;
  return seen.wrong;
}

}  // namespace holdfast::gphash::model
