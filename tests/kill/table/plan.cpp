// plan.cpp: derives rounds, keys, values and calls from seeds.
#include "kill/table/plan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "holdfast/pool.hpp"
#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {
namespace {

/// How likely each operation is, in percent: a table that fills up, one that churns, one that empties.
struct Mix {
  std::array<unsigned, kOps> percent;  ///< by Op
};
constexpr std::array<Mix, 4> kMixes{{
    {{40, 20, 5, 4, 2, 4, 8, 7, 10}},
    {{15, 20, 15, 5, 2, 20, 6, 5, 12}},
    {{5, 5, 5, 5, 5, 60, 5, 5, 5}},
    {{0, 60, 20, 5, 0, 5, 0, 0, 10}},
}};
/// A table that fills up and stays full: items move.
constexpr Mix kFills{{40, 30, 2, 2, 1, 5, 8, 7, 5}};

Op pick_op(Random& random, const Mix& mix, bool accumulates) {
  auto at = random.below(100);
  for (unsigned op = 0; op < kOps; ++op) {
    if (at < mix.percent[op]) {
      return static_cast<Op>(op) == Op::accumulate && !accumulates ? Op::insert_or_assign : static_cast<Op>(op);
    }
    at -= mix.percent[op];
  }
  return Op::insert_or_assign;
}

template <class T>
void combine_elements(std::string& old, const std::string& given, Combine combine) {
  for (std::size_t at = 0; at + sizeof(T) <= old.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, old.data() + at, sizeof(T));
    std::memcpy(&b, given.data() + at, sizeof(T));
    using Unsigned = std::make_unsigned_t<T>;
    const T sum = static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    const T made = combine == Combine::add ? sum : combine == Combine::min ? std::min(a, b) : std::max(a, b);
    std::memcpy(old.data() + at, &made, sizeof(T));
  }
}

/// How long keys and values are, and whether the table keeps scores.
void make_shape(Round& round, std::uint64_t seed) {
  constexpr std::array<std::uint32_t, 6> kValueBytes{0, 4, 8, 12, 128, 1000};
  constexpr std::array<std::uint32_t, 6> kLargeValueBytes{128, 12, 24, 8, 100, 16};
  constexpr std::array<std::uint32_t, 8> kKeyBytes{8, 8, 16, 8, 32, 8, 128, 24};
  round.key_bytes = mix(seed, 0x766c) % 4 == 0 ? kVariableBytes : kKeyBytes[mix(seed, 0x6b62) % kKeyBytes.size()];
  round.value_bytes = (round.large ? kLargeValueBytes : kValueBytes)[seed % kValueBytes.size()];
  round.scored = round.key_bytes != kVariableBytes && round.value_bytes != 0 && mix(seed, 0x7363) % 5 == 0;
}

/// Many keys and large batches, with room for them in most pools.
void make_large(Round& round, Random& random) {
  round.keys = static_cast<std::uint32_t>(10'000 + random.below(40'000));
  round.capacity = random.chance(80) ? 3 * round.keys : round.keys / 4;
  round.batch = 2 * kLargeBatch;
  round.grows = random.chance(15);
}

/// What a number below 1,000 says. Where `calls` is the theme, most calls are about the whole table.
Call pick_call(const Round& round, unsigned thread, std::uint64_t at) {
  const bool theme = round.theme == Theme::calls;
  if (at < (theme ? 100 : 4)) return Call::sync;
  if (at < (theme ? 220 : round.grows ? 60 : 8)) return Call::reserve;
  if (round.threads == 1 && (theme ? at < 400 : at == 999)) return Call::clear;
  if (thread == 0 && theme && at < 600) return Call::snapshot;
  return Call::batch;
}

/// What brings writers to the failpoints of the theme.
void make_themed(Round& round, Random& random, Kind kind) {
  for (unsigned i = 0; i < 1000 && kind_of(round) != kind; ++i) make_shape(round, mix(round.seed, i));
  if (round.theme == Theme::moves) {
    round.keys = static_cast<std::uint32_t>(400 + random.below(2000));
    round.moves = true;
  }
  round.grows = round.theme == Theme::calls;  // else children.cpp grows it
  if (round.theme == Theme::calls) round.threads = random.chance(70) ? 1 : 2;
}

}  // namespace

bool has_any_length(const Round& round) { return round.key_bytes == kVariableBytes; }
bool is_wide(const Round& round) { return round.key_bytes != 8 && !has_any_length(round); }
bool has_cells(const Round& round) { return has_any_length(round) || round.scored || round.value_bytes > 8; }

Kind kind_of(const Round& round) {
  if (has_any_length(round)) return Kind::variable;
  if (round.scored) return Kind::scored;
  return is_wide(round) ? Kind::wide : has_cells(round) ? Kind::in_cells : Kind::in_slots;
}

Round make_round(std::uint64_t seed, bool large, Theme theme, Kind kind) {
  Random random(mix(seed, 0x726f));
  Round round{};
  round.seed = seed;
  round.theme = theme;
  round.large = large || theme == Theme::phases;
  make_shape(round, seed);
  round.keys = static_cast<std::uint32_t>(random.chance(50) ? 40 + random.below(200) : 500 + random.below(3000));
  round.capacity = static_cast<std::uint32_t>(16 + random.below(48));
  round.threads = random.chance(40) ? 1 : 2;
  round.table_threads = random.chance(50) ? 1 : 2;
  round.batch = random.chance(75) ? 64 : kMaxBatch;
  round.flush = random.chance(40);
  round.moves = random.chance(70);
  round.grows = random.chance(40);
  round.single = !round.large && mix(seed, 0x736b) % 3 == 0;
  if (round.large) make_large(round, random);
  if (theme != Theme::none) make_themed(round, random, kind);
  return round;
}

std::uint64_t pool_seed(const Round& round) { return round.seed | 1; }

std::uint64_t key_of(const Round& round, std::uint32_t index) {
  constexpr std::array<std::uint64_t, 6> kSpecial{0, 1, 2, 3, ~std::uint64_t{0}, ~std::uint64_t{0} - 1};
  if (index < kSpecial.size()) return kSpecial[index];
  return mix(round.seed, index) | 0x100;  // never one of the special ones but by a chance of 2^-55
}

std::string value_of(const Round& round, std::uint64_t version) {
  std::string bytes(round.value_bytes, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = mix(version, at);
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
  return bytes;
}

Plan make_plan(const Round& round, std::uint32_t life, unsigned thread, std::uint64_t number) {
  Random random(mix(mix(round.seed, life), mix(thread, number)));
  Plan plan;
  const auto special = random.below(1000);
  const bool reads_others = round.threads > 1 && random.chance(25);
  plan.call = pick_call(round, thread, special);
  const unsigned sizes = round.theme == Theme::calls ? 9 : 13;
  plan.reserve =
      round.grows ? 1 + random.below(std::uint64_t{1} << (4 + random.below(sizes))) : 1 + random.below(round.keys);
  if (plan.call != Call::batch) return plan;
  plan.call = reads_others ? Call::foreign_read : Call::batch;

  const Mix& mix_of_life = round.theme == Theme::moves ? kFills : kMixes[mix(round.seed, life * 3 + 1) % kMixes.size()];
  const bool accumulates = round.value_bytes > 0 && round.key_bytes != kVariableBytes;
  const std::uint32_t owner = reads_others ? 1 - thread : thread;
  const std::uint32_t share = round.keys / round.threads;
  const std::uint32_t hot = random.chance(30) ? 1 + static_cast<std::uint32_t>(random.below(4)) : share;
  const std::uint32_t first = static_cast<std::uint32_t>(random.below(share - hot + 1));
  auto n = 1 + random.below(reads_others ? 16 : random.chance(80) ? std::min(round.batch, 64u) : round.batch);
  if (round.large && !reads_others && random.chance(75)) n = kLargeBatch + random.below(kLargeBatch);

  plan.mixed = random.chance(40);
  plan.masked = random.chance(10);
  plan.combine = static_cast<Combine>(random.below(3));
  plan.element = round.value_bytes % 8 == 0 ? (random.chance(50) ? Element::u64 : Element::i64)
                                            : (random.chance(50) ? Element::u32 : Element::i32);
  const bool single = round.single && random.chance(thread == 0 ? 95 : 60);
  if (single) n = 1;
  if (single) plan.mixed = plan.masked = false;
  const Op one = reads_others ? Op::find : pick_op(random, mix_of_life, accumulates);
  if (reads_others) plan.mixed = plan.masked = false;
  std::unordered_set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint32_t>((first + random.below(hot)) * round.threads + owner);
    seen.insert(index);
    plan.indices.push_back(index);
    plan.ops.push_back(static_cast<std::uint8_t>(plan.mixed ? pick_op(random, mix_of_life, accumulates) : one));
    plan.mask.push_back(plan.masked ? static_cast<std::uint8_t>(random.below(4) != 0) : 1);
    plan.versions.push_back(random.next());
  }
  plan.unique = seen.size() == n && random.chance(50);
  return plan;
}

std::string combined(const std::string& old, const std::string& given, Combine combine, Element element) {
  std::string made = old;
  switch (element) {
    case Element::i32: combine_elements<std::int32_t>(made, given, combine); break;
    case Element::u32: combine_elements<std::uint32_t>(made, given, combine); break;
    case Element::i64: combine_elements<std::int64_t>(made, given, combine); break;
    default: combine_elements<std::uint64_t>(made, given, combine); break;
  }
  return made;
}

}  // namespace holdfast::proof::kill
