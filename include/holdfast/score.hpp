// score.hpp: 8 bytes that a table may store with each item, to select items later: for example those unused for long.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// The kind of a table's scores. A change that writes a value (an insert, an update, a sum, a change of a column) also sets
/// the score of its item, durably and atomically; a search changes no score. The numbers are those of the pool format.
enum class Score : std::uint8_t {
  none = 0,       ///< it keeps none
  step = 1,       ///< the table's step (Table::set_step) when the batch was given
  time = 2,       ///< nanoseconds since 1970 when the batch was given
  frequency = 3,  ///< 1 for a new item, and one more for each change that writes it
};

inline constexpr unsigned kScores = 4;
inline constexpr unsigned kScoreBytes = 8;

/// Returns "none", "step", "time" or "frequency".
const char* name(Score score);
/// Returns the score of that name. Throws InvalidArgument for another name.
Score score_from(std::string_view name);

}  // namespace holdfast
