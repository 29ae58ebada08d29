// quoted.hpp: keys in messages.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// "user:17": printable ASCII as it is, other bytes as \xNN; the beginning of a long key.
inline std::string quoted(std::string_view key) {
  constexpr std::size_t kMostShown = 64;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char each : key.substr(0, kMostShown)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= ' ' && byte <= '~' && each != '"' && each != '\\') {
      text += each;
    } else {
      text += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return text + (key.size() > kMostShown ? "\"..." : "\"");
}

}  // namespace holdfast
