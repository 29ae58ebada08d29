// observed.hpp: makes a call of the operating system under the eyes of the observer. For calls.cpp and net/calls.cpp alone.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "system/calls.hpp"

namespace holdfast::system {

/// The installed observer, or null.
Observer* observer() noexcept;

/// Makes one attempt. `attempt` returns -1 and sets errno if it fails.
template <class Attempt>
std::int64_t once(Event event, Attempt attempt) {
  Observer* const watching = observer();
  if (watching == nullptr) return attempt();
  const int refused = watching->before(event);
  const bool always_made = event.call == Call::close;  // the kernel closes even where it reports an error
  if (refused == 0 || always_made) event.result = attempt();
  if (refused != 0) errno = refused;
  event.error = refused != 0 ? refused : event.result == -1 ? errno : 0;
  if (refused != 0) event.result = -1;
  if (event.call == Call::mmap && event.error == 0) event.address = reinterpret_cast<void*>(event.result);
  watching->after(event);
  errno = event.error;
  return event.result;
}

template <class Attempt>
std::int64_t until_done(const Event& event, Attempt attempt) {
  std::int64_t result = 0;
  do {
    result = once(event, attempt);
  } while (result == -1 && errno == EINTR);
  return result;
}

/// A call that may transfer less than it was asked for: `attempt` is given how many bytes it may.
template <class Attempt>
ssize_t part(const Event& event, Attempt attempt) {
  return until_done(event, [&] {
    Observer* const watching = observer();
    return attempt(watching == nullptr ? event.bytes : std::min(event.bytes, watching->most(event)));
  });
}

template <class Attempt>
int whole(const Event& event, Attempt attempt) {
  return static_cast<int>(until_done(event, attempt));
}

}  // namespace holdfast::system
