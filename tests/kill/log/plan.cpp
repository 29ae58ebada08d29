// plan.cpp: derives logs, their entries and transactions from seeds.
#include <algorithm>
#include <bit>

#include "kill/log/shared.hpp"
#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {
namespace {

std::uint32_t upto(Random& random, std::uint32_t most) { return static_cast<std::uint32_t>(1 + random.below(most)); }

/// Words of an entry or an update. A kernel is compiled for each of its sizes.
std::uint32_t words_upto(const LogRound& round, Random& random, std::uint32_t most) {
  const std::uint32_t words = upto(random, most);
  return round.gpu ? std::bit_floor(words) : words;
}

}  // namespace

LogRound make_log_round(std::uint64_t seed, bool gpu) {
  Random random(mix(seed, 0x6c6f67));
  LogRound round = {};
  round.seed = seed;
  round.logs[kHierarchical] = {upto(random, 2), upto(random, 64), 0, upto(random, kMostLogWords),
                               upto(random, kMostLogCapacity)};
  round.logs[kConventional] = {0, 0, upto(random, 16), upto(random, kMostLogWords), upto(random, kMostLogCapacity)};
  round.logs[kUndo] = {1, upto(random, 64), 0, 2 + kMostUpdate, upto(random, 8)};
  round.slice = upto(random, 24);
  round.flush = random.chance(30);
  round.gpu = gpu;
  return round;
}

LogValue value_of(const LogRound& round, std::uint32_t log, std::uint32_t id) {
  Random random(mix(round.seed ^ log, id));
  LogValue value = {};
  value.count = words_upto(round, random, round.logs[log].words);
  value.words[0] = id;
  for (std::uint32_t k = 1; k < value.count; ++k) value.words[k] = static_cast<std::uint32_t>(random.next());
  return value;
}

std::vector<LogUpdate> updates_of(const LogRound& round, std::uint32_t id) {
  Random random(mix(round.seed, std::uint64_t{id} << 8));
  const LogShape& undo = round.logs[kUndo];
  std::uint32_t of_place[kMostLogPlaces] = {};
  std::vector<LogUpdate> updates;
  std::uint32_t places = random.chance(30) ? 2 : undo.places();  // few: a location has several updates
  if (round.gpu) places = std::min(places, undo.threads);        // no thread of a kernel has one of those behind
  for (std::uint32_t left = upto(random, kMostUpdates); left > 0; --left) {
    LogUpdate update = {};
    update.place = static_cast<std::uint32_t>(random.below(places));
    if (++of_place[update.place] > undo.capacity) continue;
    update.count = words_upto(round, random, round.slice < kMostUpdate ? round.slice : kMostUpdate);
    update.offset =
        update.place * round.slice + static_cast<std::uint32_t>(random.below(round.slice - update.count + 1));
    for (std::uint32_t k = 0; k < update.count; ++k) update.words[k] = static_cast<std::uint32_t>(random.next());
    updates.push_back(update);
  }
  return updates;
}

bool gives_up(const LogRound& round, std::uint32_t id) { return mix(round.seed, ~std::uint64_t{id}) % 100 < 20; }

}  // namespace holdfast::proof::kill
