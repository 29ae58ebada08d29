// one_key.hpp: the CPU's schedule for one operation: what a group does in stages, at once. Everything here depends on `Tile`.
#pragma once

#include "structures/gphash/cpu/groups.hpp"

namespace holdfast::gphash::cpu {

template <class Tile, class Shape, bool kMayFlush>
struct OneKey : private Groups<Tile, Shape, kMayFlush> {
  using Base = Groups<Tile, Shape, kMayFlush>;

  /// Runs row 0, which has no mask, and the operation of all rows.
  static gphash::Outcome run(const typename Base::View& view, const typename Base::Memory& memory, const Work& work,
                             Tally& tally) {
    typename Base::Flight flight(0, view, Base::Access::key_of(view, work, 0));
    if (work.changes) {
      if (work.rows.verify && Base::skip_damaged(view, memory, work.rows, flight, false, tally)) {
        return gphash::Outcome::done;
      }
      return Base::change_one(view, memory, work, 0, flight.candidates, tally);
    }
    find(view, memory, work, flight, tally);
    return gphash::Outcome::done;
  }

 private:
  HOLDFAST_FLATTEN static void find(const typename Base::View& view, const typename Base::Memory& memory,
                                    const Work& work, typename Base::Flight& flight, Tally& tally) {
    const Tile tile;
    const typename Base::Candidate candidates = flight.candidates;
    gphash::Found found = gphash::confirm(tile, memory, view, candidates, gphash::look(tile, memory, view, candidates));
    if (!found.settled) found = Base::find_settled(view, memory, flight.candidates, tally);
    if (!found.settled) return Base::skip(work.rows, 0);
    Base::answer(view, memory, work.rows, 0, found.item);
    flight.slot = found.item.slot;
    flight.word = found.item.word;
    if (work.rows.verify) Base::skip_damaged(view, memory, work.rows, flight, true, tally);
  }
};

}  // namespace holdfast::gphash::cpu
