// linear_form.hpp: linear probing as forms: with an undo log, and without.
#pragma once

#include "structures/cells/form.hpp"
#include "structures/linear/linear.hpp"

namespace holdfast::linear {

struct PlainTraits {
  using Scheme = linear::Scheme;
  static constexpr bool kLogged = false;
  static constexpr std::uint32_t kType = 9;
  static constexpr const char* kName = "linear table without a log";
};
struct LoggedTraits {
  using Scheme = linear::Scheme;
  static constexpr bool kLogged = true;
  static constexpr std::uint32_t kType = 10;
  static constexpr const char* kName = "linear table";
};
using Plain = cells::Form<PlainTraits>;
using Logged = cells::Form<LoggedTraits>;

const structures::StructureKind& plain_kind();
const structures::StructureKind& logged_kind();

}  // namespace holdfast::linear
