// sanitized.hpp: whether a sanitizer watches: tests of the store do less then.
#pragma once

namespace holdfast {

#if defined(HOLDFAST_SANITIZED)
inline constexpr bool kSanitized = true;  // where each word of a value costs a hundred times as much
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace holdfast
