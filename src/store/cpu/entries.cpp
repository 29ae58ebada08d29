// entries.cpp: the entries of an index, from the headers of the items: when a store gets another index, and when that one fails.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"
#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

/// Entries, a row each.
struct Engine::Entries {
  std::vector<cuckoo::Hash> hashes;
  std::vector<cuckoo::Location> locations;
};

/// Of all live items in cells that are in use. Changes may run, as long as none makes a call of the index: then each item that the index named is
/// among them unless it has died, and of a key that is being changed its new one may be, too.
Engine::Entries Engine::entries() {
  Parts parts(*this);
  Entries entries;
  Recovered ignored;
  for (std::uint64_t piece = 0; piece < slabs(); ++piece) {
    if (mapped_.heap.is_directory(piece)) continue;
    for (const Cell& cell : cells_.used_cells_of(piece)) {
      Header header;
      bool is_free = false;
      const std::uint64_t sequence = memory_.load(cell.words + kSequenceWord);
      if (!look(parts, opened_, cell, header, is_free, ignored)) continue;
      const cuckoo::Hash hash = key_in(cell.words, header).hash;
      memory_.order_loads();
      if (memory_.load(cell.words + kSequenceWord) != sequence) continue;  // it died meanwhile
      entries.hashes.push_back(hash);
      entries.locations.push_back(cell.location.word);
    }
  }
  return entries;
}

void Engine::use_other_index() {
  std::unique_ptr<cuckoo::AnyIndex> other = options_.other_index(options_.index);
  const Entries entries = this->entries();
  if (const std::uint64_t left = other->build(entries.hashes, entries.locations); left != 0) {
    throw DeviceError("it has no memory for an index of " + std::to_string(entries.hashes.size()) + " items");
  }
  index_.use(std::move(other), [this](cuckoo::cpu::CpuIndex& index) { rebuild(index); });
}

/// Enters what the index must name into an empty one. Of two items of a key, the newer: its change has committed it, and the older one dies next.
void Engine::rebuild(cuckoo::cpu::CpuIndex& index) {
  if (options_.require_whole) options_.require_whole();
  const Entries entries = this->entries();
  const std::size_t items = entries.hashes.size();
  cuckoo::cpu::FreshRows rows(items, index.part_bits(items));
  for (std::size_t i = 0; i < items; ++i) rows.add(entries.hashes[i], entries.locations[i]);
  for (const cuckoo::cpu::Row& row : index.fill({&rows, 1})) enter_newest(index, row);
}

/// Enters an item whose key may have an entry already.
void Engine::enter_newest(cuckoo::cpu::CpuIndex& index, const cuckoo::cpu::Row& row) {
  static thread_local const auto space = std::make_unique<std::array<std::uint64_t, (kMostKeyBytes + 7) / 8>>();
  const auto* const key = reinterpret_cast<const std::byte*>(space->data());
  const Cell cell = cells_.at({row.location});
  Glance seen;
  if (cell.none() || !glance(memory_, cell, seen, space->data())) return;  // it has died
  cuckoo::Candidates list;
  index.candidates({&row.hash, 1}, {&list, 1});
  cuckoo::Location old = cuckoo::kNone;
  cuckoo::Outcome outcome{};
  for (unsigned i = 0; i < list.size; ++i) {
    const Cell other = cells_.at({list.locations[i]});
    std::uint64_t sequence = 0;
    const auto any = [](const Header&, State, std::uint64_t, const Cell&) { return true; };
    const Seen its = other.none() ? Seen::dead : store::read(memory_, other, key, seen.header.key_bytes, sequence, any);
    if (its == Seen::other_key) continue;
    if (its == Seen::item && sequence > seen.sequence) return;
    if (its == Seen::item) {
      old = list.locations[i];
    } else {  // it has died: its cell may be another item's soon
      index.erase({&row.hash, 1}, {&list.locations[i], 1}, {&outcome, 1});
    }
  }
  index.exchange({&row.hash, 1}, {&old, 1}, {&row.location, 1}, {&outcome, 1});
  if (outcome == cuckoo::Outcome::no_cell) throw NoSpace("no memory for the entries");
}

}  // namespace holdfast::store::cpu
