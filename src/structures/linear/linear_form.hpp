// linear_form.hpp: linear probing as forms: with an undo log, and without.
#pragma once

#include "structures/cells/form.hpp"
#include "structures/linear/linear.hpp"

namespace holdfast::linear {

template <bool kIsLogged>
struct Traits {
  using Scheme = linear::Scheme;
  static constexpr bool kLogged = kIsLogged;
  static constexpr std::uint32_t kType = kLogged ? 10 : 9;
  static constexpr const char* kName = kLogged ? "linear table" : "linear table without a log";
};
using Plain = cells::Form<Traits<false>>;
using Logged = cells::Form<Traits<true>>;

const structures::StructureKind& plain_kind();
const structures::StructureKind& logged_kind();

}  // namespace holdfast::linear
