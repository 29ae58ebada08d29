// path_form.hpp: path hashing as forms: with an undo log, and without.
#pragma once

#include "structures/cells/form.hpp"
#include "structures/path/path.hpp"

namespace holdfast::path {

struct PlainTraits {
  using Scheme = path::Scheme;
  static constexpr bool kLogged = false;
  static constexpr std::uint32_t kType = 13;
  static constexpr const char* kName = "path table without a log";
};
struct LoggedTraits {
  using Scheme = path::Scheme;
  static constexpr bool kLogged = true;
  static constexpr std::uint32_t kType = 14;
  static constexpr const char* kName = "path table";
};
using Plain = cells::Form<PlainTraits>;
using Logged = cells::Form<LoggedTraits>;

const structures::StructureKind& plain_kind();
const structures::StructureKind& logged_kind();

}  // namespace holdfast::path
