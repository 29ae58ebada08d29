// schemes.cpp: the subjects linear, pfht and path: linear probing, PFHT and path hashing with an undo log.
#include "subject.hpp"

namespace holdfast::proof::kill {
namespace {

template <class Table>
HashTable create_scheme(Pool& pool, const HashedRound& round) {
  return Table::create(pool, "t",
                       {.item_bytes = round.item_bytes, .cells = 1, .seed = round.seed, .flush = round.flush != 0});
}
template <class Table>
HashTable open_scheme(Pool& pool) {
  return Table::open(pool, "t");
}
bool passes_all(const Stop&, bool) { return true; }
RecoveryFailpoints mended_by_undo(Failpoint at) {
  const bool is_logged = at == Failpoint::undo_logged || at == Failpoint::cells_changed;
  return is_logged ? list({Failpoint::change_undone}) : RecoveryFailpoints{};
}

template <class Table>
KilledScheme scheme_of(const char* name) {
  return {.name = name,
          .create = create_scheme<Table>,
          .open = open_scheme<Table>,
          .stops = {{Failpoint::pool_unnamed, kMaking},
                    {Failpoint::undo_logged, kInsert, 2, 4},
                    {Failpoint::cells_changed, kInsert, 2, 4},
                    {Failpoint::entry_void, kInsert, 1, 4},
                    {Failpoint::undo_logged, kAssign, 1, 4},
                    {Failpoint::cells_changed, kAssign, 1, 4},
                    {Failpoint::entry_void, kAssign, 1, 4},
                    {Failpoint::undo_logged, kErase, 2, 4},
                    {Failpoint::cells_changed, kErase, 2, 4},
                    {Failpoint::entry_void, kErase, 2, 4},
                    {Failpoint::larger_filled, kGrow},
                    {Failpoint::directory_written, kGrow},
                    {Failpoint::copy_half_written, kGrow},
                    {Failpoint::larger_committed, kGrow}},
          .passes = passes_all,
          .mended_at = mended_by_undo};
}
const KilledScheme linear_scheme = scheme_of<LinearTable>("linear");
const KilledScheme pfht_scheme = scheme_of<PfhtTable>("pfht");
const KilledScheme path_scheme = scheme_of<PathTable>("path");
const RegisterHashed<linear_scheme> linear_table(25);
const RegisterHashed<pfht_scheme> pfht_table(25);
const RegisterHashed<path_scheme> path_table(25);

}  // namespace
}  // namespace holdfast::proof::kill
