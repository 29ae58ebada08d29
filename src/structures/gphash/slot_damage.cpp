// slot_damage.cpp: the messages about damaged slots.
#include "structures/gphash/slot_damage.hpp"

namespace holdfast::gphash {

namespace {

std::string cell_of(const Layout& layout, std::uint64_t word) {
  if (!layout.shape.variable_) return std::to_string(word - 1);
  const heap::CellWord pair{word};
  return std::to_string(pair.begin()) + " of class " + std::to_string(pair.size_class());
}

std::string key_of(const Layout& layout, std::uint64_t key) {
  const bool fingerprint = layout.wide() || layout.shape.variable_;
  return (fingerprint ? "a key with fingerprint " : "key ") + std::to_string(key);
}

}  // namespace

std::string describe(const Damage& damage, const Layout& layout) {
  const std::string where = "level " + std::to_string(damage.level) + " bucket " + std::to_string(damage.bucket) +
                            " slot " + std::to_string(damage.slot);
  if (damage.state != gphash::SlotState::no_cell)
    return where + " holds " + key_of(layout, damage.key) + ", which does not belong there";
  return where + " names cell " + cell_of(layout, damage.word) + " of " + std::to_string(layout.cells) +
         (layout.shape.variable_ ? " slabs" : "");
}

std::string describe_shared(const Layout& layout, std::uint64_t word) {
  return "two keys share cell " + cell_of(layout, word);
}

std::string describe_misplaced(const Layout& layout, unsigned level, std::uint64_t bucket, std::uint64_t key) {
  return "level " + std::to_string(level) + " bucket " + std::to_string(bucket) + " holds " + key_of(layout, key) +
         ", which does not belong there";
}

}  // namespace holdfast::gphash
