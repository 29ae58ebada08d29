// scenarios.hpp: the schedules that the model tests run, by name. Rule 24.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "structures/gphash/model/explore.hpp"
#include "structures/gphash/protocol/address.hpp"

namespace holdfast::gphash::model {

inline constexpr std::uint64_t kReserved = 0;  ///< the key that lies aside

Operation insert(std::uint64_t key, std::uint64_t value);
Operation insert_or_assign(std::uint64_t key, std::uint64_t value);
Operation assign(std::uint64_t key, std::uint64_t value);
Operation find(std::uint64_t key);
Operation erase(std::uint64_t key);
Operation accumulate(std::uint64_t key, std::uint64_t value);
Operation find_or_insert(std::uint64_t key, std::uint64_t value);
Operation insert_and_find(std::uint64_t key, std::uint64_t value);

/// Values in cells of two words on two lines, or in their slots.
inline constexpr unsigned kInCells = 16, kInSlots = 8;

/// What an item is made of.
struct Items {
  unsigned value_bytes;
  unsigned key_words = 1;
  bool variable = false;  ///< pairs of any length
};
inline constexpr Items kPairs{kInCells, 1, true};

ModelShape two_levels(const Items& items);  ///< 2L-2H-2S with 2 + 1 buckets: all keys share one stripe
ModelShape one_level(const Items& items);   ///< 1L-2H-2S with 2 buckets, a stripe each

using Candidates = gphash::Candidates<gphash::RuntimeShape>;
/// Where a key may lie.
Candidates candidates_of(const ModelShape& shape, std::uint64_t key);
std::uint64_t bucket(const ModelShape& shape, std::uint64_t key, unsigned rank, unsigned j);
/// What a scenario's name says of its items.
std::string suffix(const ModelShape& shape);
/// A scenario of that shape, without operations.
Scenario blank(const std::string& name, Flavour flavour, const ModelShape& shape);
/// A batch of one.
Submission one(Operation operation);

/// Keys that hash as they should: same candidate buckets in the same order, and the same tag; wide ones all 64 bits of the hash.
std::vector<std::uint64_t> colliding_keys(const ModelShape& shape, unsigned count);
/// `count` keys for which `fits(candidates so far, candidate)` holds.
std::vector<std::uint64_t> keys_where(
    unsigned count, const std::function<bool(const std::vector<std::uint64_t>&, std::uint64_t)>& fits);

/// Every operation against every other, one each: on the same key, and on two that collide; there before, or not.
std::vector<Scenario> pairs(Flavour flavour);
/// Two callers with two operations each: one in so many of all, spread over them.
std::vector<Scenario> quadruples(Flavour flavour, unsigned one_in);
/// Schedules that break a protocol which leaves something out. Each is named for what it shows.
std::vector<Scenario> schedules(Flavour flavour);
/// Of those, what is about groups of inserts (group_schedules.cpp).
void add_groups(std::vector<Scenario>& to, Flavour flavour);
/// Of those, what is about columns (column_schedules.cpp).
void add_columns(std::vector<Scenario>& to, Flavour flavour, const Items& items);
void add_column_phases(std::vector<Scenario>& to, Flavour flavour, const Items& items);

}  // namespace holdfast::gphash::model
