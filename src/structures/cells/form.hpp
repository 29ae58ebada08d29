// form.hpp: linear probing, PFHT and path hashing as forms of persistent hash table, each with and without an undo log.
#pragma once

#include <string>

#include "structures/cells/verify.hpp"
#include "structures/kind.hpp"

namespace holdfast::cells {

/// What is wrong with a header's sizes; empty: nothing.
std::string flaw_in(const structures::Header& header);

/// `Traits`: the scheme, and the form's kType, kName and kLogged.
template <class Traits>
struct Form : Traits {
  using Scheme = typename Traits::Scheme;
  static constexpr bool kLogged = Traits::kLogged;
  static constexpr std::uint32_t kVersion = 1;
  static constexpr const char* kExtentName = "cells";
  static constexpr bool kDurable = kLogged;
  static constexpr std::uint16_t kLeastIndex = 4;
  using Shape = cells::Shape;
  using View = cells::View;
  template <class Item, class Memory>
  using Table = cells::Table<Scheme, kLogged, Item, Memory>;

  static std::string flaw_in(const structures::Header& header) { return cells::flaw_in(header); }
  static Shape shape(const structures::Header& header, std::uint16_t index) {
    return {index, header.item_bytes / 8, Scheme::cells(index)};
  }
  template <class Memory>
  static std::string flaw(const Memory& memory, const View& view) {
    return flaw_in_log<kLogged>(memory, view);
  }
  template <class Item, class Memory>
  static bool fill(const Memory& memory, const View& from, const View& to) {
    return cells::fill<Scheme, Item>(memory, from, to);
  }
  /// With a log it is finished after a crash.
  template <class Item, class Memory>
  static void clear(const Memory& memory, const View& view) {
    cells::clear<Scheme, kLogged>(Cells<Item, Memory>(memory, view));
  }
  template <class Item, class Memory>
  static CheckReport verify(const Memory& memory, const View& view) {
    return cells::verify<Scheme, kLogged, Item>(memory, view);
  }
};

}  // namespace holdfast::cells
