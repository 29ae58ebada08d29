// fixture.hpp: the pools that are damaged, and what is done with each damaged one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cases.hpp"
#include "support/exercise_pool.hpp"
#include "support/image.hpp"
#include "support/objects_image.hpp"

namespace holdfast::test::corrupt {

/// Where pools of this process lie; the same in the children that run the cases.
const std::string& pool_path();

/// Pools of one table: values in slots and in cells, closed and killed; wide keys, pairs of which share a hash; and scores.
const std::vector<Image>& images();
/// A pool of several objects.
const ObjectsImage& objects();
/// Its tables that open, without `victims`.
std::map<std::uint32_t, Items> all_but(const std::set<std::uint32_t>& victims);

/// Writes the damaged image of one table and does with it all that a user could.
Outcome outcome_of(const std::string& bytes, const Items* expected);
/// The same with a pool of several objects, of which all but the victims must be intact, unless the pool is refused.
PoolExercised exercise_bytes(const std::string& bytes, const std::set<std::uint32_t>& victims);
Outcome outcome_of_objects(const std::string& bytes, const std::set<std::uint32_t>& victims);
/// A small part of that, for thousands of cases: reads the victims and, in turn, another table.
PoolExercised glance_at_bytes(const std::string& bytes, const std::set<std::uint32_t>& victims, std::uint64_t turn);
Outcome glance_at_objects(const std::string& bytes, const std::set<std::uint32_t>& victims, std::uint64_t turn);

/// Runs the cases, keeps and prints their counts, and fails for what is wrong.
Tally expect_sound(const std::string& group, std::uint64_t count, const std::function<Outcome(std::uint64_t)>& run,
                   const std::function<std::string(std::uint64_t)>& name);

void flip(std::string& bytes, std::uint64_t bit);
std::string bit_name(std::uint64_t bit);

}  // namespace holdfast::test::corrupt
