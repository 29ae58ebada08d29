// explored.hpp: how much the model tests explore, exactly. The rows are of `scripts/model-results --explored`, not of a hand.
#pragma once

#include <cstdint>

namespace holdfast::gphash::model {

/// One suite in one flavour. All of it follows from the code and fixed seeds, so another run explores as much.
struct Explored {
  const char* run;  ///< "bounded" or "long"
  const char* suite;
  const char* flavour;
  std::uint64_t scenarios, executions, states, images, sampled, recoveries, crashed_in_recovery, crashed_after_recovery;
};

// clang-format off
inline constexpr Explored kExplored[] = {
    {"bounded", "bucket_map", "cached", 1, 713, 0, 0, 0, 0, 0, 0},
    {"bounded", "bucket_map", "empty", 1, 145115, 0, 0, 0, 0, 0, 0},
    {"bounded", "bucket_map_in_phases", "cached", 1, 641, 0, 0, 0, 0, 0, 0},
    {"bounded", "bucket_map_in_phases", "empty", 1, 33082, 0, 0, 0, 0, 0, 0},
    {"bounded", "cache_map", "write", 1, 68000, 0, 0, 0, 0, 0, 0},
    {"bounded", "key_directory", "blank", 1, 23710, 0, 0, 0, 0, 0, 0},
    {"bounded", "key_directory", "known", 1, 9840, 0, 0, 0, 0, 0, 0},
    {"bounded", "key_directory", "noted", 1, 10086, 0, 0, 0, 0, 0, 0},
    {"bounded", "key_directory", "nothing", 1, 27484, 0, 0, 0, 0, 0, 0},
    {"bounded", "pairs", "gpu", 2456, 843644, 1404986, 68462, 0, 42239, 57114, 229942},
    {"bounded", "pairs", "power", 2456, 930744, 1528587, 92997, 0, 35554, 23005, 147711},
    {"bounded", "pairs", "process", 2456, 759214, 1281077, 29912, 0, 32770, 9202, 65943},
    {"bounded", "pairs", "resident", 2456, 886216, 1477062, 61958, 0, 42239, 33373, 201916},
    {"bounded", "pairs_of_one_key", "power", 2456, 850992, 1355819, 92997, 0, 35554, 23005, 147711},
    {"bounded", "pairs_of_one_key", "process", 2456, 668448, 1113977, 29912, 0, 32770, 9202, 65943},
    {"bounded", "quadruples", "gpu", 34, 272892, 389212, 7895, 0, 2716, 3810, 17522},
    {"bounded", "quadruples", "power", 34, 302024, 426464, 11806, 0, 2204, 1375, 10682},
    {"bounded", "quadruples", "process", 34, 234812, 340529, 2961, 0, 2094, 550, 4646},
    {"bounded", "quadruples", "resident", 34, 294672, 420274, 7351, 0, 2716, 2249, 15354},
    {"bounded", "schedules", "gpu", 294, 696075, 923586, 460027, 0, 14763, 344592, 159895},
    {"bounded", "schedules", "power", 230, 474465, 663593, 45282, 0, 10231, 160131, 74142},
    {"bounded", "schedules", "process", 206, 392755, 564616, 8192, 0, 6998, 8879, 17741},
    {"bounded", "schedules", "resident", 318, 733791, 983875, 27766, 0, 15745, 332805, 149162},
    {"long", "bucket_map", "cached", 1, 713, 0, 0, 0, 0, 0, 0},
    {"long", "bucket_map", "empty", 1, 145115, 0, 0, 0, 0, 0, 0},
    {"long", "bucket_map_in_phases", "cached", 1, 641, 0, 0, 0, 0, 0, 0},
    {"long", "bucket_map_in_phases", "empty", 1, 33082, 0, 0, 0, 0, 0, 0},
    {"long", "cache_map", "write", 1, 68000, 0, 0, 0, 0, 0, 0},
    {"long", "key_directory", "blank", 1, 412578, 0, 0, 0, 0, 0, 0},
    {"long", "key_directory", "known", 1, 132292, 0, 0, 0, 0, 0, 0},
    {"long", "key_directory", "noted", 1, 196526, 0, 0, 0, 0, 0, 0},
    {"long", "key_directory", "nothing", 1, 966824, 0, 0, 0, 0, 0, 0},
    {"long", "pairs", "gpu", 2456, 843644, 1404986, 68462, 0, 104069, 157728, 563354},
    {"long", "pairs", "power", 2456, 930744, 1528587, 92997, 0, 88593, 64640, 446252},
    {"long", "pairs", "process", 2456, 759214, 1281077, 29912, 0, 81382, 25856, 211125},
    {"long", "pairs", "resident", 2456, 886216, 1477062, 61958, 0, 104069, 92122, 503660},
    {"long", "pairs_of_one_key", "power", 2456, 850992, 1355819, 92997, 0, 88593, 64640, 446252},
    {"long", "pairs_of_one_key", "process", 2456, 668448, 1113977, 29912, 0, 81382, 25856, 211125},
    {"long", "quadruples", "gpu", 3072, 26707401, 37116881, 711283, 0, 493125, 617652, 3335558},
    {"long", "quadruples", "power", 3072, 30041144, 41254436, 1025365, 0, 416375, 236760, 2428237},
    {"long", "quadruples", "process", 3072, 23049350, 32534837, 261105, 0, 372803, 94704, 981891},
    {"long", "quadruples", "resident", 132, 1196542, 1698903, 26331, 0, 21127, 15079, 109941},
    {"long", "schedules", "gpu", 294, 18234483, 21231340, 1418697, 0, 33968, 372752, 323895},
    {"long", "schedules", "power", 230, 7312341, 8618385, 81110, 0, 23325, 170975, 202388},
    {"long", "schedules", "process", 206, 4436408, 5411645, 12094, 0, 17449, 12618, 59381},
    {"long", "schedules", "resident", 318, 8908599, 10580530, 40873, 0, 35854, 350766, 299830},
};
// clang-format on

}  // namespace holdfast::gphash::model
