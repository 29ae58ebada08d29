// group.cpp: the subject group: group hashing.
#include "subject.hpp"

namespace holdfast::proof::kill {
namespace {

const KilledScheme group_scheme = {
    .name = "group",
    .create = [](Pool& pool, const HashedRound& round) -> HashTable {
      return GroupTable::create(pool, "t",
                                {.item_bytes = round.item_bytes,
                                 .cells = 1,
                                 .group_size = round.group_size,
                                 .seed = round.seed,
                                 .flush = round.flush != 0});
    },
    .open = [](Pool& pool) -> HashTable { return GroupTable::open(pool, "t"); },
    .stops = {{Failpoint::pool_unnamed, kMaking},
              {Failpoint::cell_filled, kInsert, 2, 4},
              {Failpoint::bit_set, kInsert, 1, 4},
              {Failpoint::cell_filled, kAssign, 1, 4},
              {Failpoint::both_bits_set, kAssign, 3, 4},
              {Failpoint::value_replaced, kAssign, 1, 4},
              {Failpoint::bit_cleared, kErase, 1, 4},
              {Failpoint::larger_filled, kGrow},
              {Failpoint::directory_written, kGrow},
              {Failpoint::copy_half_written, kGrow},
              {Failpoint::larger_committed, kGrow}},
    .passes =
        [](const Stop& stop, bool wide) {
          if (stop.at == Failpoint::value_replaced) return !wide;
          return stop.kind != kAssign || wide;
        },
    .mended_at =
        [](Failpoint at) {
          return at == Failpoint::both_bits_set ? list({Failpoint::duplicate_cleared}) : RecoveryFailpoints{};
        },
};
const RegisterHashed<group_scheme> group_table(50);

}  // namespace
}  // namespace holdfast::proof::kill
