// path_form.hpp: path hashing as forms: with an undo log, and without.
#pragma once

#include "structures/cells/form.hpp"
#include "structures/path/path.hpp"

namespace holdfast::path {

template <bool kIsLogged>
struct Traits {
  using Scheme = path::Scheme;
  static constexpr bool kLogged = kIsLogged;
  static constexpr std::uint32_t kType = kLogged ? 14 : 13;
  static constexpr const char* kName = kLogged ? "path table" : "path table without a log";
};
using Plain = cells::Form<Traits<false>>;
using Logged = cells::Form<Traits<true>>;

const structures::StructureKind& plain_kind();
const structures::StructureKind& logged_kind();

}  // namespace holdfast::path
