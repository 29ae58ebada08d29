// minimum.hpp: what the model tests explored when this was committed. A run that explores less has lost a bound or a scenario.
#pragma once

#include <cstdint>

namespace holdfast::machine::model {

struct Minimum {
  const char* run;  ///< "bounded" or "long"
  const char* suite;
  const char* flavour;
  std::uint64_t states, images, recoveries;
};

inline constexpr Minimum kMinimum[] = {
    {"bounded", "pairs", "process", 418955, 14353, 14983},
    {"bounded", "pairs", "power", 501405, 46291, 14983},
    {"bounded", "pairs", "gpu", 463920, 32086, 18474},
    {"bounded", "pairs", "resident", 493606, 31838, 18474},
    {"bounded", "quadruples", "process", 727284, 7125, 3963},
    {"bounded", "quadruples", "power", 903578, 26963, 3963},
    {"bounded", "quadruples", "gpu", 828931, 17751, 5232},
    {"bounded", "quadruples", "resident", 885043, 17576, 5232},
    {"bounded", "schedules", "process", 1997528, 3727, 2689},
    {"bounded", "schedules", "power", 2822556, 17286, 3001},
    {"bounded", "schedules", "gpu", 2381598, 11443, 3719},
    {"bounded", "schedules", "resident", 4357451, 12279, 5563},
    {"long", "pairs", "process", 418955, 14353, 37793},
    {"long", "pairs", "power", 501405, 46291, 37793},
    {"long", "pairs", "gpu", 463920, 32086, 46214},
    {"long", "pairs", "resident", 493606, 31838, 46214},
    {"long", "quadruples", "process", 18232482, 161759, 202912},
    {"long", "quadruples", "power", 22913293, 653547, 202912},
    {"long", "quadruples", "gpu", 20849558, 432633, 266068},
    {"long", "quadruples", "resident", 885043, 17576, 11498},
    {"long", "schedules", "process", 1997528, 3727, 5295},
    {"long", "schedules", "power", 2822556, 17286, 5745},
    {"long", "schedules", "gpu", 2381598, 11443, 7117},
    {"long", "schedules", "resident", 2843823, 11288, 8167},
};

}  // namespace holdfast::machine::model
