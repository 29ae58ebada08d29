// score.cpp: the names of scores.
#include "holdfast/score.hpp"

#include <string>

#include "holdfast/error.hpp"

namespace holdfast {

namespace {

constexpr const char* kNames[kScores] = {"none", "step", "time", "frequency"};

}  // namespace

const char* name(Score score) {
  const auto number = static_cast<unsigned>(score);
  return number < kScores ? kNames[number] : "unknown";
}

Score score_from(std::string_view name) {
  for (unsigned i = 0; i < kScores; ++i) {
    if (kNames[i] == name) return static_cast<Score>(i);
  }
  throw InvalidArgument("score is '" + std::string(name) + "': give 'none', 'step', 'time' or 'frequency'");
}

}  // namespace holdfast
