// tiles.hpp: tables made with other instructions than this CPU's best.
#pragma once

#include <cstdlib>

namespace holdfast::test {

inline constexpr const char* kTiles[] = {"avx512", "avx2", "portable"};

/// While it lives, tables that are made have these instructions, or the best that the CPU has below them. Null: its best.
class UseTile {
 public:
  explicit UseTile(const char* tile) : used_(tile != nullptr) {
    if (used_) setenv("HOLDFAST_TILE", tile, 1);
  }
  ~UseTile() {
    if (used_) unsetenv("HOLDFAST_TILE");
  }
  UseTile(const UseTile&) = delete;
  UseTile& operator=(const UseTile&) = delete;

 private:
  const bool used_;
};

}  // namespace holdfast::test
