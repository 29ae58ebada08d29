// form.hpp: group hashing as a form of persistent hash table.
#pragma once

#include <bit>
#include <string>

#include "structures/group/table.hpp"
#include "structures/group/verify.hpp"
#include "structures/kind.hpp"

namespace holdfast::group {

struct Form {
  static constexpr std::uint32_t kType = 8, kVersion = 1;
  static constexpr const char *kName = "group table", *kExtentName = "groups";
  static constexpr bool kDurable = true;
  static constexpr std::uint16_t kLeastIndex = 0;
  using Shape = group::Shape;
  using View = group::View;
  template <class Item, class Memory>
  using Table = group::Table<Item, Memory>;

  static std::string flaw_in(const structures::Header& header);
  static Shape shape(const structures::Header& header, std::uint16_t index) {
    return {std::uint64_t{1} << index, header.group_size, header.item_bytes / 8};
  }
  template <class Memory>
  static std::string flaw(const Memory&, const View&) {
    return {};
  }
  template <class Item, class Memory>
  static bool fill(const Memory& memory, const View& from, const View& to) {
    return group::fill<Item>(memory, from, to);
  }
  /// After a crash some items may be there.
  template <class Item, class Memory>
  static void clear(const Memory& memory, const View& view) {
    for (std::uint64_t number = 0; number < view.shape.groups; ++number) {
      std::uint64_t* const group = view.group(number);
      for (std::uint32_t w = 0; w < view.shape.occupancy_words(); ++w) memory.store(group + w, 0);
      memory.flush(group, view.shape.occupancy_words() * 8);
    }
    memory.fence();
  }
  template <class Item, class Memory>
  static CheckReport verify(const Memory& memory, const View& view) {
    return group::verify<Item>(memory, view);
  }
};

const structures::StructureKind& kind();

}  // namespace holdfast::group
