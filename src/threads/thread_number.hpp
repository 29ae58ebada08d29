// thread_number.hpp: small numbers for threads, so that each can own an entry of an array.
#pragma once

namespace holdfast::threads {

inline constexpr unsigned kThreadNumbers = 256;
inline constexpr unsigned kNoThreadNumber = ~0u;

/// Returns the number of this thread, less than kThreadNumbers and shared with no other living thread; kNoThreadNumber if all
/// are in use. A thread keeps its number until it ends.
unsigned thread_number() noexcept;

}  // namespace holdfast::threads
