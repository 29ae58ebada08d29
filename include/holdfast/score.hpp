// score.hpp: the 8 bytes that a table may keep with each item, by which items are chosen later: those unused for long, for example.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// What a table's scores say. A change that writes a value (an insert, an update, a sum, a change of a column) sets its item's score,
/// as durably and whole as the value; a search changes no score. The numbers are those of the pool's format.
enum class Score : std::uint8_t {
  none = 0,       ///< it keeps none
  step = 1,       ///< the table's step (Table::set_step) when the batch was given
  time = 2,       ///< nanoseconds since 1970 when the batch was given
  frequency = 3,  ///< 1 for a new item, and one more for each change that writes it
};

inline constexpr unsigned kScores = 4;
inline constexpr unsigned kScoreBytes = 8;

/// "none", "step", "time" or "frequency".
const char* name(Score score);
/// The score of that name. Throws InvalidArgument for another.
Score score_from(std::string_view name);

}  // namespace holdfast
