// log_status.hpp: the result of an operation on a log.
#pragma once

#include <cstdint>

namespace holdfast {

enum class LogStatus : std::uint8_t {
  ok = 0,
  full,       ///< the place has as many entries as the log was made for
  empty,      ///< the place has no entry
  too_large,  ///< more bytes than an entry of the log, or not a multiple of 4
  no_place    ///< the launch has more threads than the log has places
};

}  // namespace holdfast
