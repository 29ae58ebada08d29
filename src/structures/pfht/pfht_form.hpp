// pfht_form.hpp: PFHT as forms: with an undo log, and without.
#pragma once

#include "structures/cells/form.hpp"
#include "structures/pfht/pfht.hpp"

namespace holdfast::pfht {

struct PlainTraits {
  using Scheme = pfht::Scheme;
  static constexpr bool kLogged = false;
  static constexpr std::uint32_t kType = 11;
  static constexpr const char* kName = "PFHT table without a log";
};
struct LoggedTraits {
  using Scheme = pfht::Scheme;
  static constexpr bool kLogged = true;
  static constexpr std::uint32_t kType = 12;
  static constexpr const char* kName = "PFHT table";
};
using Plain = cells::Form<PlainTraits>;
using Logged = cells::Form<LoggedTraits>;

const structures::StructureKind& plain_kind();
const structures::StructureKind& logged_kind();

}  // namespace holdfast::pfht
