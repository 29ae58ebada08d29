// recovery.cpp: what is volatile of a store, from its items.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "holdfast/error.hpp"
#include "store/cpu/parts.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::store::cpu {

namespace {

constexpr std::size_t kPrefetchBytes = 512;  ///< ahead of the cell that is looked at

}  // namespace

/// What one thread has found beside the rows of the index.
struct alignas(64) Engine::Finding {
  std::vector<Location> chunks;  ///< which are not free
  std::vector<Cell> damaged;
  Recovered recovered;
};

/// Looks at the items of a piece, whose free cells are free then.
void Engine::look_at_piece(std::uint64_t piece, const Moment& moment, cuckoo::FreshRows& rows, Finding& finding) {
  Parts parts(*this);
  std::array<std::uint64_t, kPieceBytes / kLineBytes / 64> free{};
  bool has_cells = false;
  Location last;  // of an item
  std::uint64_t soonest = CellSpace::kNever;
  Recovered recovered;
  cells_.each_cell(piece, [&](std::uint32_t index, const Cell& cell) {
    has_cells = true;
    __builtin_prefetch(reinterpret_cast<const std::byte*>(cell.words) + kPrefetchBytes);
    Header header;
    bool is_free = false;
    if (look(parts, moment, cell, header, is_free, recovered)) {
      rows.add(key_in(cell.words, header).hash, cell.location.word);
      last = cell.location;
      const std::uint64_t expiry = State{memory_.load(cell.words + kStateWord)}.expiry();
      if (expiry != 0) soonest = std::min(soonest, expiry);
      for (unsigned chunk = 0; chunk < header.chunks; ++chunk) {
        finding.chunks.push_back(location_of_chunk(memory_, cell.words, header, chunk));
      }
    } else if (is_free) {
      free[index / 64] |= std::uint64_t{1} << index % 64;
    } else {
      finding.damaged.push_back(cell);
    }
  });
  finding.recovered += recovered;
  if (has_cells) cells_.set_free(piece, free);
  if (soonest != CellSpace::kNever) cells_.expires(last, soonest);
}

Key Engine::key_in(const std::uint64_t* cell, const Header& header) const {
  return key_of(reinterpret_cast<const std::byte*>(cell + header.key_at()), header.key_bytes);
}

/// A chunk of an item that verifies looked like a damaged item: the first word, which only says that no item begins there, has changed.
void Engine::mend_chunk(const Cell& cell) {
  memory_.store(cell.words + kSequenceWord, 0);
  memory_.flush(cell.words, 8);
  --recovered_.damaged;
}

/// Whether the damaged cell has this key.
bool Engine::reads(const Cell& cell, const Key& key) const {
  const Header header = Header::of(memory_.load(cell.words + kValueWord), memory_.load(cell.words + kKeyWord));
  if (header.words() > cell.size || header.key_bytes != key.bytes) return false;
  return std::memcmp(cell.words + header.key_at(), key.data, key.bytes) == 0;
}

void Engine::note_damaged(const Cell& cell) {
  if (memory_.load(cell.words + kSequenceWord) == 0) return;  // a chunk
  const Header header = Header::of(memory_.load(cell.words + kValueWord), memory_.load(cell.words + kKeyWord));
  damaged_.add(header.words() <= cell.size ? key_in(cell.words, header).hash : 0, cell);
}

/// The index is filled in bulk; then items whose keys may repeat are entered one by one, as the protocol says.
void Engine::recover() {
  if (!is_valid_record(memory_, mapped_.record)) {
    throw PoolCorrupt(
        "the record of the store, which has the time and the numbers that it used, is damaged: restore the pool from a "
        "copy");
  }
  for (std::uint64_t piece = 0; piece < mapped_.heap.count; ++piece) {
    if (mapped_.heap.is_directory(piece)) continue;
    if (!cells_.enter(piece, {memory_.load(mapped_.heap.entry(piece))})) damaged_.add_piece(piece);
  }
  static_assert(store::Parts<Parts>);
  Parts parts(*this);
  const Moment moment = opened_ = counters_.moment();
  const unsigned threads = std::max(1u, options_.index.threads);
  std::vector<Finding> findings(threads);
  std::vector<cuckoo::FreshRows> rows;
  const std::uint64_t cells = cells_.cells();
  for (unsigned i = 0; i < threads; ++i) rows.emplace_back(cells, index_.part_bits(cells));
  std::atomic<std::uint64_t> next = 0;
  threads::ThreadTeam(threads).run(threads, [&](unsigned i, unsigned) {
    for (std::uint64_t piece; (piece = next.fetch_add(1)) < mapped_.heap.count;) {
      look_at_piece(piece, moment, rows[i], findings[i]);
    }
  });
  for (const Finding& finding : findings) {
    for (const Location chunk : finding.chunks) {
      if (!cells_.take_back(chunk)) mend_chunk(cells_.at(chunk));
    }
    recovered_ += finding.recovered;
  }
  for (const Finding& finding : findings) {
    for (const Cell& cell : finding.damaged) note_damaged(cell);
  }
  recovered_.damaged_pieces = damaged_.pieces().size();
  const std::vector<cuckoo::Row> again = index_.fill(rows);
  rows.clear();
  recovered_.items = index_.size();
  for (const auto& row : again) {
    const Cell cell = cells_.at({row.location});
    const Header header = Header::of(memory_.load(cell.words + kValueWord), memory_.load(cell.words + kKeyWord));
    enter(parts, key_in(cell.words, header), cell, recovered_);
  }
  end_recovery(parts);
  cells_.end_recovery(moment.flushed);
  looked_flushed_ = moment.flushed;
  if (recovered_.unnamed != 0 && options_.other_index) {
    throw DeviceError("it has no memory for an index of " + std::to_string(recovered_.items) + " items");
  }
  if (recovered_.unnamed != 0) {
    throw NoSpace("there is no memory for an index of the store's items: free memory, and open it again");
  }
  if (options_.salvages) {
    counters_.begin_behind(recovered_.newest);
  } else if (recovered_.newest > counters_.reserved()) {
    throw PoolCorrupt("an item of the store has the number " + std::to_string(recovered_.newest) + ", and only " +
                      std::to_string(counters_.reserved()) + " are reserved: restore the pool from a copy");
  }
  index_.begin();
}

}  // namespace holdfast::store::cpu
