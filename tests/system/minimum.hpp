// minimum.hpp: what the proofs over the system layer tried when this was committed. A run that tries less has lost a call or a choice.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "proof/subject.hpp"

namespace holdfast::proof {

/// "power": the images that were found, of which some are tried; and those of the recoveries of these.
struct Minimum {
  const char *proof, *medium, *subject;
  std::uint64_t calls, images, recoveries, faults, errors;
};

inline constexpr Minimum kMinimum[] = {
    {"crashes", "shm", "object_renamed_over", 116, 16, 2, 0, 0},
    {"crashes", "file", "object_renamed_over", 136, 652, 47, 0, 0},
    {"crashes", "shm", "object_replaced", 112, 14, 2, 0, 0},
    {"crashes", "file", "object_replaced", 129, 648, 41, 0, 0},
    {"crashes", "shm", "objects", 144, 21, 0, 0, 0},
    {"crashes", "file", "objects", 167, 148, 39, 0, 0},
    {"crashes", "shm", "objects_changed", 89, 11, 10, 0, 0},
    {"crashes", "file", "objects_changed", 113, 169, 121, 0, 0},
    {"crashes", "shm", "change", 64, 10, 6, 0, 0},
    {"crashes", "file", "change", 81, 78, 66, 0, 0},
    {"crashes", "shm", "change_in_slots", 53, 8, 4, 0, 0},
    {"crashes", "file", "change_in_slots", 64, 33, 42, 0, 0},
    {"crashes", "shm", "check", 107, 7, 2, 0, 0},
    {"crashes", "file", "check", 120, 22, 29, 0, 0},
    {"crashes", "shm", "check_killed", 105, 3, 3, 0, 0},
    {"crashes", "file", "check_killed", 117, 3, 21, 0, 0},
    {"crashes", "shm", "clear", 62, 8, 4, 0, 0},
    {"crashes", "file", "clear", 79, 30, 52, 0, 0},
    {"crashes", "shm", "create", 85, 15, 2, 0, 0},
    {"crashes", "file", "create", 97, 56, 27, 0, 0},
    {"crashes", "shm", "create_over", 97, 15, 3, 0, 0},
    {"crashes", "file", "create_over", 109, 41, 44, 0, 0},
    {"crashes", "shm", "grow_heap", 124, 15, 18, 0, 0},
    {"crashes", "file", "grow_heap", 158, 1074, 669, 0, 0},
    {"crashes", "shm", "grow_levels", 113, 12, 16, 0, 0},
    {"crashes", "file", "grow_levels", 141, 267, 308, 0, 0},
    {"crashes", "shm", "open_killed", 59, 5, 4, 0, 0},
    {"crashes", "file", "open_killed", 70, 18, 29, 0, 0},
    {"crashes", "shm", "open_resizing", 62, 5, 6, 0, 0},
    {"crashes", "file", "open_resizing", 76, 18, 44, 0, 0},
    {"crashes", "shm", "reserve", 133, 13, 15, 0, 0},
    {"crashes", "file", "reserve", 164, 73, 182, 0, 0},
    {"crashes", "shm", "snapshot", 89, 13, 2, 0, 0},
    {"crashes", "file", "snapshot", 103, 289, 35, 0, 0},
    {"crashes", "shm", "snapshot_compact", 90, 14, 2, 0, 0},
    {"crashes", "file", "snapshot_compact", 104, 135, 36, 0, 0},
    {"crashes", "shm", "snapshot_over", 101, 14, 11, 0, 0},
    {"crashes", "file", "snapshot_over", 115, 206, 93, 0, 0},
    {"crashes", "shm", "region_and_logs", 91, 15, 23, 0, 0},
    {"crashes", "file", "region_and_logs", 125, 129, 217, 0, 0},
    {"crashes", "shm", "transactions", 87, 13, 21, 0, 0},
    {"crashes", "file", "transactions", 116, 80, 202, 0, 0},
    {"crashes", "shm", "transaction_killed", 64, 6, 12, 0, 0},
    {"crashes", "file", "transaction_killed", 85, 42, 89, 0, 0},
    {"crashes", "shm", "checkpoint_in_used_space", 75, 10, 0, 0, 0},
    {"crashes", "file", "checkpoint_in_used_space", 106, 36, 37, 0, 0},
    {"crashes", "shm", "objects_in_used_space", 114, 15, 0, 0, 0},
    {"crashes", "shm", "stepped", 64, 10, 6, 0, 0},
    {"crashes", "shm", "described", 63, 12, 4, 0, 0},
    {"crashes", "file", "objects_in_used_space", 151, 111, 42, 0, 0},
    {"crashes", "file", "stepped", 81, 142, 66, 0, 0},
    {"crashes", "file", "described", 81, 55, 55, 0, 0},
    {"crashes", "shm", "saves_overlap", 80, 15, 0, 0, 0},
    {"crashes", "file", "saves_overlap", 113, 148, 142, 0, 0},
    {"crashes", "shm", "group_grows", 95, 24, 21, 0, 0},
    {"crashes", "file", "group_grows", 114, 121, 214, 0, 0},
    {"crashes", "shm", "group_grows_wide", 95, 24, 21, 0, 0},
    {"crashes", "file", "group_grows_wide", 114, 330, 222, 0, 0},
    {"crashes", "shm", "group_killed", 48, 6, 6, 0, 0},
    {"crashes", "file", "group_killed", 57, 15, 38, 0, 0},
    {"crashes", "shm", "heap_changes", 130, 31, 28, 0, 0},
    {"crashes", "file", "heap_changes", 160, 841, 446, 0, 0},
    {"faults", "shm", "object_renamed_over", 116, 104, 0, 103, 42},
    {"faults", "file", "object_renamed_over", 136, 394, 0, 123, 62},
    {"faults", "shm", "object_replaced", 112, 100, 0, 99, 41},
    {"faults", "file", "object_replaced", 129, 368, 0, 116, 57},
    {"faults", "shm", "objects", 144, 430, 0, 429, 193},
    {"faults", "file", "objects", 167, 4124, 0, 542, 303},
    {"faults", "shm", "objects_changed", 89, 261, 0, 260, 96},
    {"faults", "file", "objects_changed", 113, 1194, 0, 359, 170},
    {"faults", "shm", "change", 64, 190, 0, 189, 66},
    {"faults", "file", "change", 81, 831, 0, 260, 120},
    {"faults", "shm", "change_in_slots", 53, 160, 0, 159, 60},
    {"faults", "file", "change_in_slots", 64, 618, 0, 205, 92},
    {"faults", "shm", "check", 107, 323, 0, 322, 145},
    {"faults", "file", "check", 120, 1123, 0, 376, 181},
    {"faults", "shm", "check_killed", 105, 317, 0, 316, 146},
    {"faults", "file", "check_killed", 117, 978, 0, 364, 164},
    {"faults", "shm", "clear", 62, 184, 0, 183, 66},
    {"faults", "file", "clear", 79, 813, 0, 254, 120},
    {"faults", "shm", "create", 85, 245, 0, 244, 119},
    {"faults", "file", "create", 97, 1562, 0, 307, 187},
    {"faults", "shm", "create_over", 97, 91, 0, 90, 42},
    {"faults", "file", "create_over", 109, 371, 0, 102, 58},
    {"faults", "shm", "grow_heap", 124, 355, 0, 354, 140},
    {"faults", "file", "grow_heap", 158, 2055, 0, 500, 276},
    {"faults", "shm", "grow_levels", 113, 325, 0, 324, 134},
    {"faults", "file", "grow_levels", 141, 1842, 0, 445, 248},
    {"faults", "shm", "open_killed", 59, 176, 0, 175, 73},
    {"faults", "file", "open_killed", 70, 638, 0, 219, 101},
    {"faults", "shm", "open_resizing", 62, 187, 0, 186, 77},
    {"faults", "file", "open_resizing", 76, 785, 0, 242, 117},
    {"faults", "shm", "reserve", 133, 383, 0, 382, 166},
    {"faults", "file", "reserve", 164, 2049, 0, 518, 296},
    {"faults", "shm", "snapshot", 89, 279, 0, 278, 124},
    {"faults", "file", "snapshot", 103, 1234, 0, 337, 160},
    {"faults", "shm", "snapshot_compact", 90, 286, 0, 285, 128},
    {"faults", "file", "snapshot_compact", 104, 1287, 0, 344, 164},
    {"faults", "shm", "snapshot_over", 101, 95, 0, 94, 44},
    {"faults", "file", "snapshot_over", 115, 359, 0, 108, 53},
    {"faults", "shm", "create_large", 90, 257, 0, 256, 123},
    {"faults", "shm", "region_and_logs", 91, 83, 0, 82, 22},
    {"faults", "file", "region_and_logs", 127, 354, 0, 118, 48},
    {"faults", "shm", "transactions", 87, 81, 0, 80, 20},
    {"faults", "file", "transactions", 116, 321, 0, 109, 36},
    {"faults", "shm", "transaction_killed", 64, 60, 0, 59, 21},
    {"faults", "file", "transaction_killed", 87, 231, 0, 82, 36},
    {"faults", "shm", "checkpoint_in_used_space", 75, 70, 0, 69, 33},
    {"faults", "file", "checkpoint_in_used_space", 106, 348, 0, 100, 56},
    {"faults", "shm", "objects_in_used_space", 114, 107, 0, 106, 49},
    {"faults", "shm", "stepped", 64, 190, 0, 189, 66},
    {"faults", "shm", "described", 63, 188, 0, 187, 66},
    {"faults", "file", "objects_in_used_space", 151, 522, 0, 143, 81},
    {"faults", "file", "stepped", 81, 831, 0, 260, 120},
    {"faults", "file", "described", 81, 874, 0, 261, 124},
    {"faults", "shm", "saves_overlap", 80, 75, 0, 74, 31},
    {"faults", "file", "saves_overlap", 113, 384, 0, 107, 57},
    {"faults", "shm", "group_grows", 95, 284, 0, 283, 100},
    {"faults", "file", "group_grows", 114, 1365, 0, 368, 178},
    {"faults", "shm", "group_grows_wide", 95, 91, 0, 90, 35},
    {"faults", "file", "group_grows_wide", 114, 330, 0, 109, 52},
    {"faults", "shm", "group_killed", 48, 146, 0, 145, 59},
    {"faults", "file", "group_killed", 57, 520, 0, 181, 83},
    {"faults", "shm", "heap_changes", 130, 393, 0, 392, 157},
    {"faults", "file", "heap_changes", 160, 2125, 0, 526, 289},
    {"power", "dax", "group_grows", 100, 53, 128, 0, 0},
    {"power", "dax", "group_grows_wide", 100, 86, 141, 0, 0},
    {"power", "dax", "group_killed", 54, 12, 32, 0, 0},
    {"power", "dax", "heap_changes", 134, 118, 66, 0, 0},
    {"power", "dax", "object_renamed_over", 124, 165, 128, 0, 0},
    {"power", "dax", "object_replaced", 120, 113, 116, 0, 0},
    {"power", "dax", "objects", 151, 58, 0, 0, 0},
    {"power", "dax", "objects_changed", 102, 36, 144, 0, 0},
    {"power", "dax", "change", 73, 42, 124, 0, 0},
    {"power", "dax", "change_in_slots", 60, 23, 64, 0, 0},
    {"power", "dax", "check", 117, 16, 32, 0, 0},
    {"power", "dax", "check_killed", 115, 5, 12, 0, 0},
    {"power", "dax", "clear", 71, 22, 48, 0, 0},
    {"power", "dax", "create", 86, 29, 32, 0, 0},
    {"power", "dax", "create_over", 98, 30, 32, 0, 0},
    {"power", "dax", "grow_heap", 132, 268, 162, 0, 0},
    {"power", "dax", "grow_levels", 119, 153, 163, 0, 0},
    {"power", "dax", "open_killed", 67, 12, 36, 0, 0},
    {"power", "dax", "reserve", 139, 41, 101, 0, 0},
    {"power", "dax", "snapshot", 100, 28, 32, 0, 0},
    {"power", "dax", "snapshot_compact", 101, 33, 32, 0, 0},
    {"power", "dax", "snapshot_over", 112, 29, 92, 0, 0},
    {"power", "dax", "log_of_partitions", 76, 31, 50, 0, 0},
    {"power", "dax", "log_of_threads", 76, 32, 52, 0, 0},
    {"power", "dax", "saves", 90, 36, 10, 0, 0},
    {"power", "dax", "objects_in_used_space", 196, 82, 63, 0, 0},
    {"power", "dax", "open_resizing", 70, 13, 31, 0, 0},
    {"power", "dax", "saves_in_used_space", 106, 36, 8, 0, 0},
    {"power", "dax", "saves_overlap", 92, 123, 4, 0, 0},
    {"power", "dax", "transaction_killed", 92, 37, 167, 0, 0},
    {"power", "dax", "transactions", 95, 58, 238, 0, 0},
    {"power", "dax", "two_writers", 78, 48, 0, 0, 0},
    {"power", "dax", "stepped", 73, 42, 124, 0, 0},
    {"power", "dax", "described", 71, 38, 96, 0, 0},
    {"crashes", "shm", "linear_grows", 95, 24, 21, 0, 0},
    {"crashes", "shm", "linear_killed", 48, 6, 6, 0, 0},
    {"crashes", "shm", "pfht_grows", 95, 24, 21, 0, 0},
    {"crashes", "shm", "pfht_killed", 48, 6, 6, 0, 0},
    {"crashes", "shm", "path_grows", 95, 24, 21, 0, 0},
    {"crashes", "shm", "path_killed", 48, 6, 6, 0, 0},
    {"power", "dax", "linear_grows", 100, 76, 153, 0, 0},
    {"power", "dax", "linear_killed", 54, 15, 40, 0, 0},
    {"power", "dax", "pfht_grows", 100, 67, 151, 0, 0},
    {"power", "dax", "pfht_killed", 54, 12, 31, 0, 0},
    {"power", "dax", "path_grows", 100, 67, 151, 0, 0},
    {"power", "dax", "path_killed", 54, 12, 31, 0, 0},
    {"faults", "shm", "linear_grows", 95, 91, 0, 90, 35},
    {"faults", "shm", "linear_killed", 48, 46, 0, 45, 20},
    {"faults", "shm", "pfht_grows", 95, 91, 0, 90, 35},
    {"faults", "shm", "pfht_killed", 48, 46, 0, 45, 20},
    {"faults", "shm", "path_grows", 95, 91, 0, 90, 35},
    {"faults", "shm", "path_killed", 48, 46, 0, 45, 20},
    {"crashes", "file", "linear_grows", 114, 125, 214, 0, 0},
    {"crashes", "file", "linear_killed", 57, 11, 38, 0, 0},
    {"crashes", "file", "pfht_grows", 114, 121, 214, 0, 0},
    {"crashes", "file", "pfht_killed", 57, 11, 38, 0, 0},
    {"crashes", "file", "path_grows", 114, 139, 216, 0, 0},
    {"crashes", "file", "path_killed", 57, 11, 38, 0, 0},
    {"faults", "file", "linear_grows", 114, 330, 0, 109, 52},
    {"faults", "file", "linear_killed", 57, 149, 0, 54, 25},
    {"faults", "file", "pfht_grows", 114, 330, 0, 109, 52},
    {"faults", "file", "pfht_killed", 57, 149, 0, 54, 25},
    {"faults", "file", "path_grows", 114, 330, 0, 109, 52},
    {"faults", "file", "path_killed", 57, 149, 0, 54, 25},
    {"crashes", "shm", "store_killed", 58, 4, 4, 0, 0},
    {"crashes", "shm", "store_changes", 85, 30, 50, 0, 0},  // it depends on how often time passes meanwhile
    {"power", "dax", "store_killed", 64, 12, 32, 0, 0},
    {"power", "dax", "store_changes", 90, 90, 190, 0, 0},  // the same
    {"crashes", "shm", "store_grows", 75, 12, 10, 0, 0},
    {"crashes", "shm", "store_copied", 90, 14, 12, 0, 0},
    {"crashes", "file", "store_killed", 67, 12, 24, 0, 0},
    {"faults", "shm", "store_killed", 58, 53, 0, 52, 22},
    {"faults", "file", "store_killed", 67, 171, 0, 61, 27},
    {"faults", "shm", "store_changes", 85, 80, 0, 79, 15},
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
    if (!tries_all()) return;
    EXPECT_GE(counts.images, least.images);
    EXPECT_GE(counts.recoveries, least.recoveries);
    EXPECT_GE(counts.faults, least.faults);
    EXPECT_GE(counts.errors, least.errors);
    return;
  }
  ADD_FAILURE() << "no minimum is committed: add the line above to tests/system/minimum.hpp";
}

/// The allocations of an operation, each of which failed once. Libraries of other versions make a few more or fewer.
struct Allocations {
  const char* subject;
  std::int64_t least;
};

inline constexpr Allocations kAllocations[] = {
    {"create", 100},
    {"create_over", 105},
    {"open", 84},
    {"open_killed", 84},
    {"open_resizing", 111},
    {"check_killed", 84},
    {"copy", 52},
    {"copy_over", 57},
    {"sync", 0},
    {"close", 0},
    {"check", 28},
    {"grow_levels", 693},
    {"grow_heap", 710},
    {"update_cells", 45},
    {"insert_pair", 9},
    {"update_pairs", 42},
    {"grow_pairs", 626},
    {"reserve", 71},
    {"snapshot", 52},
    {"snapshot_compact", 51},
    {"read_pairs", 2},  // 4 without AddressSanitizer
    {"export_moved", 3402},
    {"handle", 13},
    {"save", 21},
    {"save_growing", 63},
    {"save_group", 21},
    {"open_checkpoint", 30},
    {"restore", 56},
    {"store_set", 7},
    {"store_set_in_a_new_class", 8},
    {"store_append", 9},
    {"store_erase", 0},
    {"store_grows", 36},
    {"store_batch", 44},
    {"store_read", 1},
    {"store_visit", 55},
};

/// Says how many failed; fails where that is less than nine tenths of what it was.
inline void expect_no_fewer(std::string_view subject, std::int64_t allocations) {
  std::printf("    {\"%s\", %lld},\n", subject.data(), static_cast<long long>(allocations));
  for (const Allocations& one : kAllocations) {
    if (one.subject != subject) continue;
    EXPECT_GE(10 * allocations, 9 * one.least);
    return;
  }
  ADD_FAILURE() << "no minimum is committed: add the line above to tests/system/minimum.hpp";
}

}  // namespace holdfast::proof
