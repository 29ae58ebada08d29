// slot_damage.hpp: slots that hold what cannot be, and the messages about them, which are the same on all backends.
#pragma once

#include <cstdint>
#include <string>

#include "structures/gphash/protocol/recover.hpp"
#include "structures/gphash/view.hpp"

namespace holdfast::gphash {

/// A slot, its words, and what is wrong with them.
struct Damage {
  gphash::SlotState state;
  std::uint32_t level;
  std::uint32_t slot;
  std::uint64_t bucket, key, word;
};

std::string describe(const Damage& damage, const Layout& layout);
/// Two occupied slots have `word`, and it is not that of one item.
std::string describe_shared(const Layout& layout, std::uint64_t word);
/// The slot of a drained level holds `key`, which no hash location leads there.
std::string describe_misplaced(const Layout& layout, unsigned level, std::uint64_t bucket, std::uint64_t key);

}  // namespace holdfast::gphash
