// pfht_form.hpp: PFHT as forms: with an undo log, and without.
#pragma once

#include "structures/cells/form.hpp"
#include "structures/pfht/pfht.hpp"

namespace holdfast::pfht {

template <bool kIsLogged>
struct Traits {
  using Scheme = pfht::Scheme;
  static constexpr bool kLogged = kIsLogged;
  static constexpr std::uint32_t kType = kLogged ? 12 : 11;
  static constexpr const char* kName = kLogged ? "PFHT table" : "PFHT table without a log";
};
using Plain = cells::Form<Traits<false>>;
using Logged = cells::Form<Traits<true>>;

const structures::StructureKind& plain_kind();
const structures::StructureKind& logged_kind();

}  // namespace holdfast::pfht
