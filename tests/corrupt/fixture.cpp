// fixture.cpp: makes the pools once, and exercises damaged copies of them.
#include "fixture.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "support/exercise.hpp"
#include "support/exercise_pool.hpp"

namespace holdfast::test::corrupt {

namespace {

/// A name for pools of this process, which leaves none of them behind.
struct PoolPath {
  const pid_t owner = getpid();
  const std::string path = "/dev/shm/holdfast-corrupt-" + std::to_string(owner);
  PoolPath() = default;
  PoolPath(const PoolPath&) = delete;
  PoolPath& operator=(const PoolPath&) = delete;
  ~PoolPath() {
    if (getpid() != owner) return;
    for (const char* const suffix : {"", "-case"}) std::remove((path + suffix).c_str());
  }
};

}  // namespace

const std::string& pool_path() {
  static const PoolPath made;
  return made.path;
}

const std::vector<Image>& images() {
  static const std::vector<Image> all = [] {
    std::vector<Image> made;
    for (const std::uint32_t value_bytes : {8u, 40u}) {
      for (const bool clean : {true, false}) made.push_back(make_image(pool_path(), value_bytes, 12, clean));
    }
    for (const std::uint32_t value_bytes : {8u, 40u})
      made.push_back(make_image(pool_path(), value_bytes, 12, false, 32));
    made.push_back(make_image(pool_path(), 8, 12, false, 8, Score::frequency));
    return made;
  }();
  return all;
}

const ObjectsImage& objects() {
  static const ObjectsImage image = make_objects_image(pool_path(), false);
  return image;
}

std::map<std::uint32_t, Items> all_but(const std::set<std::uint32_t>& victims) {
  std::map<std::uint32_t, Items> intact = objects().items;
  for (const std::uint32_t victim : victims) intact.erase(victim);
  return intact;
}

Outcome outcome_of(const std::string& bytes, const Items* expected) {
  const std::string path = pool_path() + "-case";
  write_file(path, bytes);
  const Exercised result = exercise(path, expected);
  return {result.opened, result.damage_reported || result.repaired, result.wrong};
}

namespace {

Outcome as_outcome(const PoolExercised& result) {
  const bool reported = !result.opened || result.repaired || result.damage_found;
  return {result.opened, reported, result.wrong};
}

}  // namespace

PoolExercised exercise_bytes(const std::string& bytes, const std::set<std::uint32_t>& victims) {
  const std::string path = pool_path() + "-case";
  write_file(path, bytes);
  return exercise_pool(path, all_but(victims));
}

Outcome outcome_of_objects(const std::string& bytes, const std::set<std::uint32_t>& victims) {
  return as_outcome(exercise_bytes(bytes, victims));
}

PoolExercised glance_at_bytes(const std::string& bytes, const std::set<std::uint32_t>& victims, std::uint64_t turn) {
  const std::string path = pool_path() + "-case";
  write_file(path, bytes);
  return glance_at_pool(path, all_but(victims), turn);
}

Outcome glance_at_objects(const std::string& bytes, const std::set<std::uint32_t>& victims, std::uint64_t turn) {
  return as_outcome(glance_at_bytes(bytes, victims, turn));
}

Tally expect_sound(const std::string& group, std::uint64_t count, const std::function<Outcome(std::uint64_t)>& run,
                   const std::function<std::string(std::uint64_t)>& name) {
  pool_path();  // before the children have numbers of their own
  Tally tally = run_cases(count, run, name);
  keep(group, tally);
  std::printf("%s: %llu cases, %llu opened, %llu reported\n", group.c_str(),
              static_cast<unsigned long long>(tally.cases), static_cast<unsigned long long>(tally.opened),
              static_cast<unsigned long long>(tally.reported));
  for (const std::string& wrong : tally.wrong) ADD_FAILURE() << group << ": " << wrong;
  std::filesystem::remove(pool_path() + "-case");
  std::filesystem::remove(pool_path() + "-case-copy");
  return tally;
}

void flip(std::string& bytes, std::uint64_t bit) { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8); }

std::string bit_name(std::uint64_t bit) {
  return "bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8);
}

}  // namespace holdfast::test::corrupt
