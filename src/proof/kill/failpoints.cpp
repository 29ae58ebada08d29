// failpoints.cpp: the names of failpoints, as results give them.
#include "proof/kill/failpoints.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::proof::kill {
namespace {

/// The compiler's name of the enumerator, which src/core/failpoint.hpp alone lists.
template <Failpoint at>
std::string enumerator() {
  std::string_view text = __PRETTY_FUNCTION__;  // "… [with Failpoint at = holdfast::Failpoint::none; …]"
  constexpr std::string_view kBefore = "Failpoint::";
  text.remove_prefix(text.rfind(kBefore) + kBefore.size());
  return std::string(text.substr(0, text.find_first_of(";]")));
}

template <std::size_t... i>
std::vector<std::string> enumerators(std::index_sequence<i...>) {
  return {enumerator<static_cast<Failpoint>(i)>()...};
}

}  // namespace

const char* name_of(Failpoint at) {
  static const std::vector<std::string> names = enumerators(std::make_index_sequence<kFailpoints>());
  return names[static_cast<unsigned>(at)].c_str();
}

RecoveryFailpoints list(std::initializer_list<Failpoint> some) {
  RecoveryFailpoints all;
  for (const Failpoint at : some) all.at[all.size++] = at;
  return all;
}

}  // namespace holdfast::proof::kill
