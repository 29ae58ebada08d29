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
    {"bounded", "pairs", "process", 780771, 22752, 25934},
    {"bounded", "pairs", "power", 941471, 75413, 28718},
    {"bounded", "pairs", "gpu", 862766, 54112, 32959},
    {"bounded", "pairs", "resident", 921282, 48376, 32959},
    {"bounded", "quadruples", "process", 1390578, 11278, 7258},
    {"bounded", "quadruples", "power", 1743548, 41932, 7930},
    {"bounded", "quadruples", "gpu", 1578209, 28934, 9487},
    {"bounded", "quadruples", "resident", 1698903, 26331, 9487},
    {"bounded", "schedules", "process", 5432215, 12200, 9097},
    {"bounded", "schedules", "power", 7591756, 71870, 10917},
    {"bounded", "schedules", "gpu", 21059107, 1416490, 16356},
    {"bounded", "schedules", "resident", 10552831, 40328, 17605},
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
