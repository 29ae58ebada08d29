// entries.cpp: the entries of an index, from the headers of the items, when the index in use has failed.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "holdfast/error.hpp"
#include "store/cpu/parts.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::store::cpu {

/// Of the live items in cells of a piece that are in use. Changes may run, as long as none makes a call of the index: then each item that the index
/// named is among them unless it has died, and of a key that is being changed its new one may be, too.
void Engine::add_entries(std::uint64_t piece, cuckoo::FreshRows& rows) {
  if (mapped_.heap.is_directory(piece)) return;
  Parts parts(*this);
  Recovered ignored;
  for (const Cell& cell : cells_.used_cells_of(piece)) {
    Header header;
    bool is_free = false;
    const std::uint64_t sequence = memory_.load(cell.words + kSequenceWord);
    if (!look(parts, opened_, cell, header, is_free, ignored)) continue;
    const cuckoo::Hash hash = key_in(cell.words, header).hash;
    memory_.order_loads();
    if (memory_.load(cell.words + kSequenceWord) != sequence) continue;  // it died meanwhile
    rows.add(hash, cell.location.word);
  }
}

/// Enters what the index must name into an empty one. Of two items of a key, the newer: its change has committed it, and the older one dies next.
void Engine::rebuild(cuckoo::cpu::CpuIndex& index) {
  if (options_.require_whole) options_.require_whole();
  const unsigned threads = std::max(1u, options_.index.threads);
  const std::uint64_t pieces = slabs(), most = pieces * (kPieceBytes / kLineBytes);
  std::vector<cuckoo::FreshRows> rows;
  for (unsigned i = 0; i < threads; ++i) rows.emplace_back(most, index.part_bits(most));
  std::atomic<std::uint64_t> next = 0;
  threads::ThreadTeam(threads).run(threads, [&](unsigned i, unsigned) {
    for (std::uint64_t piece; (piece = next.fetch_add(1)) < pieces;) add_entries(piece, rows[i]);
  });
  for (const cuckoo::Row& row : index.fill(rows)) enter_newest(index, row);
}

/// Enters an item whose key may have an entry already.
void Engine::enter_newest(cuckoo::cpu::CpuIndex& index, const cuckoo::Row& row) {
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
