// driver_impl.hpp: the CPU's batch driver for one instruction set and configuration. Included by one file for each
// instruction set; everything here depends on `Tile`, so none is shared by them.
#pragma once

#include <cstdint>
#include <memory>

#include "core/both.hpp"
#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/cpu/groups.hpp"
#include "structures/gphash/cpu/maintenance_driver.hpp"
#include "structures/gphash/cpu/one_key.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash::cpu {

template <class Tile, class Shape, bool kMayFlush>
class DriverImpl final : public MaintenanceDriver<Tile, Shape, kMayFlush> {
  using Group = Groups<Tile, Shape, kMayFlush>;
  using Memory = typename Group::Memory;
  using Candidate = typename Group::Candidate;
  using Flight = typename Group::Flight;
  static_assert(gphash::OperationTile<Tile, Memory, Shape>);

 public:
  using MaintenanceDriver<Tile, Shape, kMayFlush>::MaintenanceDriver;

  Progress run(const Work& work, std::size_t begin, std::size_t end, heap::ThreadCells& cells,
               Tally& tally) const override {
    const Memory memory(this->persist_, cells, tally);
    const gphash::View<Shape> view = this->view_;  // a copy that no store through a user's pointer can change
    alignas(64) unsigned char storage[2 * kGroup * sizeof(Flight)];
    Flight* const flights = reinterpret_cast<Flight*>(storage);
    Flight* const early = flights + kGroup;  // searches among changes, of keys that nothing before them changes
    const bool mixed = work.changes && work.rows.ops != nullptr;
    gphash::Outcome outcome = gphash::Outcome::done;
    for (std::size_t at = begin; at < end;) {
      std::size_t count = 0, early_count = 0;
      const std::size_t first = at;
      bool reserved = false;
      typename Group::KeyBits changed;
      for (; at < end && count + early_count < kGroup; ++at) {
        const std::size_t row = work.row(at);
        if (work.mask && !work.mask[row]) {
          Group::skip(work.rows, row);
          continue;
        }
        const gphash::Key key = Group::Access::key_of(view, work, row);
        bool is_early = false;
        if (mixed) {
          const std::uint64_t hash = Candidate(view, key).hash();
          const bool searches = !holdfast::changes(work.rows.op_of(row));
          is_early = searches && !changed.may_have(hash);
          if (!searches) changed.add(hash);
        }
        // Made where it stays: a copy by wide loads of what was just written in words waits until the words are in the cache.
        Flight* const flight = new (is_early ? early + early_count++ : flights + count++) Flight(row, view, key);
        reserved |= flight->candidates.is_reserved();
        Group::Ask::tags(view, flight->candidates);
      }
      if (!work.changes) {
        Group::find(view, memory, work.rows, flights, count, reserved, tally);
        continue;
      }
      if (early_count != 0) {  // at the speed of a batch of searches, while the lines of the changes are on their way
        Group::ask(view, memory, work.rows, flights, count, reserved);
        Group::find(view, memory, work.rows, early, early_count, reserved, tally);
      }
      const std::size_t stopped = Group::change(view, memory, work, flights, count, reserved, tally, outcome);
      HOLDFAST_ASSERT(stopped <= count);
      if (stopped != count) return {Group::position(work, first, flights[stopped].row), outcome};
    }
    return {end, gphash::Outcome::done};
  }

  gphash::Outcome run_one(const Work& work, heap::ThreadCells& cells, Tally& tally) const override {
    const Memory memory(this->persist_, cells, tally);
    return OneKey<Tile, Shape, kMayFlush>::run(this->view_, memory, work, tally);
  }

  gphash::Outcome change_one(const gphash::OneRow& row, std::uint32_t bytes, std::uint64_t score, Status& status,
                             heap::ThreadCells& cells, Tally& tally) const override {
    return OneKey<Tile, Shape, kMayFlush>::change_one(this->view_, this->persist_, row, bytes, score, status, cells,
                                                      tally);
  }
  Status find_one(const std::byte* key, std::byte* out, std::uint32_t bytes, heap::ThreadCells& cells) const override {
    return OneKey<Tile, Shape, kMayFlush>::find_one(this->view_, this->persist_, key, out, bytes, cells);
  }
};

template <class Tile>
std::unique_ptr<Driver> make_driver_for(const gphash::RuntimeShape& shape, const pool::Persist& persist) {
  // A shape takes a compiler ten seconds and a module 80 KB, so only keys of 8 bytes in the default configuration have one of
  // their own, and only they have code without flushes; the others ask at each.
  if (shape.variable_) return std::make_unique<DriverImpl<Tile, gphash::RuntimeVariableShape, true>>(shape, persist);
  if (shape.wide() || !gphash::is_default(shape))
    return std::make_unique<DriverImpl<Tile, gphash::RuntimeShape, true>>(shape, persist);
  if (persist.flushes()) return std::make_unique<DriverImpl<Tile, gphash::DefaultShape, true>>(shape, persist);
  return std::make_unique<DriverImpl<Tile, gphash::DefaultShape, false>>(shape, persist);
}

}  // namespace holdfast::gphash::cpu
