// minimum.hpp: what the proofs over the system layer tried when this was committed. A run that tries less has lost a call or a choice.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "proof/subject.hpp"

namespace holdfast::proof {

struct Minimum {
  const char *proof, *medium, *subject;
  std::uint64_t calls, images, recoveries, faults, errors;
};

inline constexpr Minimum kMinimum[] = {
    {"crashes", "shm", "object_renamed_over", 114, 16, 2, 0, 0},
    {"crashes", "file", "object_renamed_over", 133, 652, 47, 0, 0},
    {"crashes", "shm", "object_replaced", 109, 14, 2, 0, 0},
    {"crashes", "file", "object_replaced", 125, 648, 41, 0, 0},
    {"crashes", "shm", "objects", 147, 21, 0, 0, 0},
    {"crashes", "file", "objects", 177, 148, 39, 0, 0},
    {"crashes", "shm", "objects_changed", 74, 11, 10, 0, 0},
    {"crashes", "file", "objects_changed", 89, 169, 121, 0, 0},
    {"crashes", "shm", "change", 50, 10, 6, 0, 0},
    {"crashes", "file", "change", 62, 78, 66, 0, 0},
    {"crashes", "shm", "change_in_slots", 43, 8, 4, 0, 0},
    {"crashes", "file", "change_in_slots", 50, 33, 42, 0, 0},
    {"crashes", "shm", "check", 95, 7, 2, 0, 0},
    {"crashes", "file", "check", 103, 22, 29, 0, 0},
    {"crashes", "shm", "check_killed", 93, 3, 3, 0, 0},
    {"crashes", "file", "check_killed", 100, 3, 21, 0, 0},
    {"crashes", "shm", "clear", 50, 8, 4, 0, 0},
    {"crashes", "file", "clear", 62, 30, 52, 0, 0},
    {"crashes", "shm", "create", 90, 15, 2, 0, 0},
    {"crashes", "file", "create", 112, 56, 27, 0, 0},
    {"crashes", "shm", "create_over", 96, 15, 2, 0, 0},
    {"crashes", "file", "create_over", 118, 41, 42, 0, 0},
    {"crashes", "shm", "grow_heap", 106, 15, 18, 0, 0},
    {"crashes", "file", "grow_heap", 141, 1096, 714, 0, 0},
    {"crashes", "shm", "grow_levels", 99, 12, 16, 0, 0},
    {"crashes", "file", "grow_levels", 129, 320, 361, 0, 0},
    {"crashes", "shm", "open_killed", 49, 5, 4, 0, 0},
    {"crashes", "file", "open_killed", 55, 18, 29, 0, 0},
    {"crashes", "shm", "open_resizing", 49, 5, 6, 0, 0},
    {"crashes", "file", "open_resizing", 58, 34, 52, 0, 0},
    {"crashes", "shm", "reserve", 117, 13, 15, 0, 0},
    {"crashes", "file", "reserve", 151, 73, 186, 0, 0},
    {"crashes", "shm", "snapshot", 82, 13, 2, 0, 0},
    {"crashes", "file", "snapshot", 93, 289, 35, 0, 0},
    {"crashes", "shm", "snapshot_over", 88, 13, 10, 0, 0},
    {"crashes", "file", "snapshot_over", 99, 207, 83, 0, 0},
    {"faults", "shm", "object_renamed_over", 114, 321, 0, 320, 157},
    {"faults", "file", "object_renamed_over", 133, 2038, 0, 408, 237},
    {"faults", "shm", "object_replaced", 109, 308, 0, 307, 148},
    {"faults", "file", "object_replaced", 125, 1918, 0, 383, 216},
    {"faults", "shm", "objects", 147, 413, 0, 412, 213},
    {"faults", "file", "objects", 177, 4360, 0, 551, 337},
    {"faults", "shm", "objects_changed", 74, 206, 0, 205, 84},
    {"faults", "file", "objects_changed", 89, 941, 0, 266, 140},
    {"faults", "shm", "change", 50, 140, 0, 139, 60},
    {"faults", "file", "change", 62, 631, 0, 188, 104},
    {"faults", "shm", "change_in_slots", 43, 122, 0, 121, 54},
    {"faults", "file", "change_in_slots", 50, 464, 0, 149, 78},
    {"faults", "shm", "check", 95, 271, 0, 270, 125},
    {"faults", "file", "check", 103, 917, 0, 302, 151},
    {"faults", "shm", "check_killed", 93, 265, 0, 264, 132},
    {"faults", "file", "check_killed", 100, 780, 0, 290, 140},
    {"faults", "shm", "clear", 50, 140, 0, 139, 60},
    {"faults", "file", "clear", 62, 631, 0, 188, 104},
    {"faults", "shm", "create", 90, 252, 0, 251, 140},
    {"faults", "file", "create", 112, 1883, 0, 354, 228},
    {"faults", "shm", "create_over", 96, 272, 0, 271, 154},
    {"faults", "file", "create_over", 118, 1925, 0, 374, 242},
    {"faults", "shm", "grow_heap", 106, 287, 0, 286, 139},
    {"faults", "file", "grow_heap", 141, 1873, 0, 434, 277},
    {"faults", "shm", "grow_levels", 99, 269, 0, 268, 133},
    {"faults", "file", "grow_levels", 129, 1706, 0, 395, 251},
    {"faults", "shm", "open_killed", 49, 138, 0, 137, 67},
    {"faults", "file", "open_killed", 55, 474, 0, 159, 85},
    {"faults", "shm", "open_resizing", 49, 138, 0, 137, 67},
    {"faults", "file", "open_resizing", 58, 594, 0, 171, 97},
    {"faults", "shm", "reserve", 117, 319, 0, 318, 168},
    {"faults", "file", "reserve", 151, 1903, 0, 464, 304},
    {"faults", "shm", "snapshot", 82, 241, 0, 240, 122},
    {"faults", "file", "snapshot", 93, 1106, 0, 285, 148},
    {"faults", "shm", "snapshot_over", 88, 261, 0, 260, 136},
    {"faults", "file", "snapshot_over", 99, 1162, 0, 305, 162},
    {"faults", "shm", "create_large", 95, 264, 0, 263, 144},
};

/// Says what a proof tried; fails where that is less than it was.
inline void expect_no_less(std::string_view proof, std::string_view medium, std::string_view subject,
                           const Counts& counts) {
  std::printf("{\"%s\", \"%s\", \"%s\", %zu, %zu, %zu, %zu, %zu},\n", proof.data(), medium.data(), subject.data(),
              std::size_t{counts.calls}, std::size_t{counts.images}, std::size_t{counts.recoveries},
              std::size_t{counts.faults}, std::size_t{counts.errors});
  for (const Minimum& least : kMinimum) {
    if (least.proof != proof || least.medium != medium || least.subject != subject) continue;
    EXPECT_GE(counts.calls, least.calls);
    EXPECT_GE(counts.images, least.images);
    EXPECT_GE(counts.recoveries, least.recoveries);
    EXPECT_GE(counts.faults, least.faults);
    EXPECT_GE(counts.errors, least.errors);
    return;
  }
  ADD_FAILURE() << "no minimum is committed: add the line above to tests/system/minimum.hpp";
}

}  // namespace holdfast::proof
