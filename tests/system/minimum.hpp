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
    {"crashes", "shm", "object_renamed_over", 115, 16, 2, 0, 0},
    {"crashes", "file", "object_renamed_over", 135, 652, 47, 0, 0},
    {"crashes", "shm", "object_replaced", 111, 14, 2, 0, 0},
    {"crashes", "file", "object_replaced", 128, 648, 41, 0, 0},
    {"crashes", "shm", "objects", 143, 21, 0, 0, 0},
    {"crashes", "file", "objects", 166, 148, 39, 0, 0},
    {"crashes", "shm", "objects_changed", 88, 11, 10, 0, 0},
    {"crashes", "file", "objects_changed", 112, 169, 121, 0, 0},
    {"crashes", "shm", "change", 63, 10, 6, 0, 0},
    {"crashes", "file", "change", 80, 78, 66, 0, 0},
    {"crashes", "shm", "change_in_slots", 52, 8, 4, 0, 0},
    {"crashes", "file", "change_in_slots", 63, 33, 42, 0, 0},
    {"crashes", "shm", "check", 106, 7, 2, 0, 0},
    {"crashes", "file", "check", 119, 22, 29, 0, 0},
    {"crashes", "shm", "check_killed", 104, 3, 3, 0, 0},
    {"crashes", "file", "check_killed", 116, 3, 21, 0, 0},
    {"crashes", "shm", "clear", 61, 8, 4, 0, 0},
    {"crashes", "file", "clear", 78, 30, 52, 0, 0},
    {"crashes", "shm", "create", 84, 15, 2, 0, 0},
    {"crashes", "file", "create", 96, 56, 27, 0, 0},
    {"crashes", "shm", "create_over", 96, 15, 3, 0, 0},
    {"crashes", "file", "create_over", 108, 41, 44, 0, 0},
    {"crashes", "shm", "grow_heap", 123, 15, 18, 0, 0},
    {"crashes", "file", "grow_heap", 157, 1074, 669, 0, 0},
    {"crashes", "shm", "grow_levels", 112, 12, 16, 0, 0},
    {"crashes", "file", "grow_levels", 140, 267, 308, 0, 0},
    {"crashes", "shm", "open_killed", 58, 5, 4, 0, 0},
    {"crashes", "file", "open_killed", 69, 18, 29, 0, 0},
    {"crashes", "shm", "open_resizing", 61, 5, 6, 0, 0},
    {"crashes", "file", "open_resizing", 75, 18, 44, 0, 0},
    {"crashes", "shm", "reserve", 132, 13, 15, 0, 0},
    {"crashes", "file", "reserve", 163, 73, 182, 0, 0},
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
    {"crashes", "shm", "checkpoint_in_used_space", 74, 10, 0, 0, 0},
    {"crashes", "file", "checkpoint_in_used_space", 105, 36, 37, 0, 0},
    {"crashes", "shm", "objects_in_used_space", 113, 15, 0, 0, 0},
    {"crashes", "shm", "stepped", 63, 10, 6, 0, 0},
    {"crashes", "shm", "described", 62, 12, 4, 0, 0},
    {"crashes", "file", "objects_in_used_space", 150, 111, 42, 0, 0},
    {"crashes", "file", "stepped", 80, 142, 66, 0, 0},
    {"crashes", "file", "described", 80, 55, 55, 0, 0},
    {"crashes", "shm", "saves_overlap", 79, 15, 0, 0, 0},
    {"crashes", "file", "saves_overlap", 112, 148, 142, 0, 0},
    {"crashes", "shm", "group_grows", 94, 24, 21, 0, 0},
    {"crashes", "file", "group_grows", 113, 121, 214, 0, 0},
    {"crashes", "shm", "group_grows_wide", 94, 24, 21, 0, 0},
    {"crashes", "file", "group_grows_wide", 113, 330, 222, 0, 0},
    {"crashes", "shm", "group_killed", 47, 6, 6, 0, 0},
    {"crashes", "file", "group_killed", 56, 15, 38, 0, 0},
    {"crashes", "shm", "heap_changes", 129, 31, 28, 0, 0},
    {"crashes", "file", "heap_changes", 159, 841, 446, 0, 0},
    {"faults", "shm", "object_renamed_over", 115, 103, 0, 102, 42},
    {"faults", "file", "object_renamed_over", 135, 391, 0, 122, 60},
    {"faults", "shm", "object_replaced", 111, 99, 0, 98, 40},
    {"faults", "file", "object_replaced", 128, 366, 0, 115, 56},
    {"faults", "shm", "objects", 143, 428, 0, 427, 193},
    {"faults", "file", "objects", 166, 4106, 0, 540, 303},
    {"faults", "shm", "objects_changed", 88, 259, 0, 258, 96},
    {"faults", "file", "objects_changed", 112, 1188, 0, 357, 170},
    {"faults", "shm", "change", 63, 188, 0, 187, 66},
    {"faults", "file", "change", 80, 825, 0, 258, 120},
    {"faults", "shm", "change_in_slots", 52, 158, 0, 157, 60},
    {"faults", "file", "change_in_slots", 63, 612, 0, 203, 92},
    {"faults", "shm", "check", 106, 321, 0, 320, 145},
    {"faults", "file", "check", 119, 1117, 0, 374, 181},
    {"faults", "shm", "check_killed", 104, 315, 0, 314, 146},
    {"faults", "file", "check_killed", 116, 972, 0, 362, 164},
    {"faults", "shm", "clear", 61, 182, 0, 181, 66},
    {"faults", "file", "clear", 78, 807, 0, 252, 120},
    {"faults", "shm", "create", 84, 243, 0, 242, 118},
    {"faults", "file", "create", 96, 1556, 0, 305, 186},
    {"faults", "shm", "create_over", 96, 90, 0, 89, 40},
    {"faults", "file", "create_over", 108, 366, 0, 101, 58},
    {"faults", "shm", "grow_heap", 123, 353, 0, 352, 140},
    {"faults", "file", "grow_heap", 157, 2049, 0, 498, 276},
    {"faults", "shm", "grow_levels", 112, 323, 0, 322, 134},
    {"faults", "file", "grow_levels", 140, 1836, 0, 443, 248},
    {"faults", "shm", "open_killed", 58, 174, 0, 173, 73},
    {"faults", "file", "open_killed", 69, 632, 0, 217, 101},
    {"faults", "shm", "open_resizing", 61, 185, 0, 184, 77},
    {"faults", "file", "open_resizing", 75, 779, 0, 240, 117},
    {"faults", "shm", "reserve", 132, 381, 0, 380, 166},
    {"faults", "file", "reserve", 163, 2043, 0, 516, 296},
    {"faults", "shm", "snapshot", 89, 279, 0, 278, 122},
    {"faults", "file", "snapshot", 103, 1234, 0, 337, 158},
    {"faults", "shm", "snapshot_compact", 90, 286, 0, 285, 126},
    {"faults", "file", "snapshot_compact", 104, 1287, 0, 344, 162},
    {"faults", "shm", "snapshot_over", 101, 95, 0, 94, 42},
    {"faults", "file", "snapshot_over", 115, 359, 0, 108, 53},
    {"faults", "shm", "create_large", 89, 255, 0, 254, 122},
    {"faults", "shm", "region_and_logs", 91, 83, 0, 82, 22},
    {"faults", "file", "region_and_logs", 126, 348, 0, 117, 48},
    {"faults", "shm", "transactions", 87, 81, 0, 80, 20},
    {"faults", "file", "transactions", 116, 321, 0, 109, 36},
    {"faults", "shm", "transaction_killed", 64, 60, 0, 59, 21},
    {"faults", "file", "transaction_killed", 86, 228, 0, 81, 36},
    {"faults", "shm", "checkpoint_in_used_space", 74, 69, 0, 68, 29},
    {"faults", "file", "checkpoint_in_used_space", 105, 348, 0, 99, 53},
    {"faults", "shm", "objects_in_used_space", 113, 106, 0, 105, 44},
    {"faults", "shm", "stepped", 63, 188, 0, 187, 66},
    {"faults", "shm", "described", 62, 186, 0, 185, 66},
    {"faults", "file", "objects_in_used_space", 150, 518, 0, 142, 81},
    {"faults", "file", "stepped", 80, 825, 0, 258, 120},
    {"faults", "file", "described", 80, 868, 0, 259, 124},
    {"faults", "shm", "saves_overlap", 79, 74, 0, 73, 30},
    {"faults", "file", "saves_overlap", 112, 372, 0, 106, 57},
    {"faults", "shm", "group_grows", 94, 282, 0, 281, 100},
    {"faults", "file", "group_grows", 113, 1359, 0, 366, 178},
    {"faults", "shm", "group_grows_wide", 94, 90, 0, 89, 31},
    {"faults", "file", "group_grows_wide", 113, 326, 0, 108, 52},
    {"faults", "shm", "group_killed", 47, 144, 0, 143, 59},
    {"faults", "file", "group_killed", 56, 514, 0, 179, 83},
    {"faults", "shm", "heap_changes", 129, 391, 0, 390, 157},
    {"faults", "file", "heap_changes", 159, 2119, 0, 524, 289},
    {"power", "dax", "group_grows", 99, 53, 128, 0, 0},
    {"power", "dax", "group_grows_wide", 99, 86, 141, 0, 0},
    {"power", "dax", "group_killed", 53, 12, 32, 0, 0},
    {"power", "dax", "heap_changes", 133, 118, 66, 0, 0},
    {"power", "dax", "object_renamed_over", 123, 165, 128, 0, 0},
    {"power", "dax", "object_replaced", 119, 113, 116, 0, 0},
    {"power", "dax", "objects", 150, 58, 0, 0, 0},
    {"power", "dax", "objects_changed", 101, 36, 144, 0, 0},
    {"power", "dax", "change", 72, 42, 124, 0, 0},
    {"power", "dax", "change_in_slots", 59, 23, 64, 0, 0},
    {"power", "dax", "check", 116, 16, 32, 0, 0},
    {"power", "dax", "check_killed", 114, 5, 12, 0, 0},
    {"power", "dax", "clear", 70, 22, 48, 0, 0},
    {"power", "dax", "create", 85, 29, 32, 0, 0},
    {"power", "dax", "create_over", 97, 30, 32, 0, 0},
    {"power", "dax", "grow_heap", 131, 268, 162, 0, 0},
    {"power", "dax", "grow_levels", 118, 153, 163, 0, 0},
    {"power", "dax", "open_killed", 66, 12, 36, 0, 0},
    {"power", "dax", "reserve", 138, 41, 101, 0, 0},
    {"power", "dax", "snapshot", 100, 28, 32, 0, 0},
    {"power", "dax", "snapshot_compact", 101, 33, 32, 0, 0},
    {"power", "dax", "snapshot_over", 112, 29, 92, 0, 0},
    {"power", "dax", "log_of_partitions", 75, 31, 50, 0, 0},
    {"power", "dax", "log_of_threads", 75, 32, 52, 0, 0},
    {"power", "dax", "saves", 89, 36, 10, 0, 0},
    {"power", "dax", "objects_in_used_space", 195, 82, 63, 0, 0},
    {"power", "dax", "open_resizing", 69, 13, 31, 0, 0},
    {"power", "dax", "saves_in_used_space", 105, 36, 8, 0, 0},
    {"power", "dax", "saves_overlap", 91, 123, 4, 0, 0},
    {"power", "dax", "transaction_killed", 91, 37, 167, 0, 0},
    {"power", "dax", "transactions", 95, 58, 238, 0, 0},
    {"power", "dax", "two_writers", 77, 48, 0, 0, 0},
    {"power", "dax", "stepped", 72, 42, 124, 0, 0},
    {"power", "dax", "described", 70, 38, 96, 0, 0},
    {"crashes", "shm", "linear_grows", 94, 24, 21, 0, 0},
    {"crashes", "shm", "linear_killed", 47, 6, 6, 0, 0},
    {"crashes", "shm", "pfht_grows", 94, 24, 21, 0, 0},
    {"crashes", "shm", "pfht_killed", 47, 6, 6, 0, 0},
    {"crashes", "shm", "path_grows", 94, 24, 21, 0, 0},
    {"crashes", "shm", "path_killed", 47, 6, 6, 0, 0},
    {"power", "dax", "linear_grows", 99, 76, 153, 0, 0},
    {"power", "dax", "linear_killed", 53, 15, 40, 0, 0},
    {"power", "dax", "pfht_grows", 99, 67, 151, 0, 0},
    {"power", "dax", "pfht_killed", 53, 12, 31, 0, 0},
    {"power", "dax", "path_grows", 99, 67, 151, 0, 0},
    {"power", "dax", "path_killed", 53, 12, 31, 0, 0},
    {"faults", "shm", "linear_grows", 94, 90, 0, 89, 31},
    {"faults", "shm", "linear_killed", 47, 45, 0, 44, 20},
    {"faults", "shm", "pfht_grows", 94, 90, 0, 89, 31},
    {"faults", "shm", "pfht_killed", 47, 45, 0, 44, 20},
    {"faults", "shm", "path_grows", 94, 90, 0, 89, 31},
    {"faults", "shm", "path_killed", 47, 45, 0, 44, 20},
    {"crashes", "file", "linear_grows", 113, 125, 214, 0, 0},
    {"crashes", "file", "linear_killed", 56, 11, 38, 0, 0},
    {"crashes", "file", "pfht_grows", 113, 121, 214, 0, 0},
    {"crashes", "file", "pfht_killed", 56, 11, 38, 0, 0},
    {"crashes", "file", "path_grows", 113, 139, 216, 0, 0},
    {"crashes", "file", "path_killed", 56, 11, 38, 0, 0},
    {"faults", "file", "linear_grows", 113, 326, 0, 108, 52},
    {"faults", "file", "linear_killed", 56, 147, 0, 53, 25},
    {"faults", "file", "pfht_grows", 113, 326, 0, 108, 52},
    {"faults", "file", "pfht_killed", 56, 147, 0, 53, 25},
    {"faults", "file", "path_grows", 113, 326, 0, 108, 52},
    {"faults", "file", "path_killed", 56, 147, 0, 53, 25},
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
