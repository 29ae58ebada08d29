// recovery.cpp: what is volatile of a store, from its items; and their verification.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
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
    }
  });
  finding.recovered += recovered;
  if (has_cells) cells_.set_free(piece, free);
  if (soonest != CellSpace::kNever) cells_.expires(last, soonest);
}

Key Engine::key_in(const std::uint64_t* cell, const Header& header) const {
  return key_of(reinterpret_cast<const std::byte*>(cell + header.key_at()), header.key_bytes);
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
    if (!cells_.enter(piece, {memory_.load(mapped_.heap.entry(piece))})) damaged_pieces_.push_back(piece);
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
    for (const Location chunk : finding.chunks) cells_.take_back(chunk);
    recovered_ += finding.recovered;
  }
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

/// What the item has of its key, and whether reads find it: it may have been damaged since the store was opened.
std::string Engine::describe_damage(const Cell& cell) {
  const Header header = Header::of(memory_.load(cell.words + kValueWord), memory_.load(cell.words + kKeyWord));
  const auto byte = reinterpret_cast<const std::byte*>(cell.words) - mapped_.heap.base;
  const std::string where = "(byte " + std::to_string(byte) + " of the heap) does not match its checksum";
  if (header.words() > cell.size) {
    return "an item without a valid size " + where + "; its key is not known, and is absent: restore it from a copy";
  }
  const Key key = key_in(cell.words, header);
  if (Parts(*this).names(key, cell.location)) {
    return "the item of the key " + quoted(key) + " " + where +
           "; reads return it until the store is opened again: set the key again, or erase it";
  }
  return "an item whose key reads " + quoted(key) + " " + where +
         "; it is absent since the store was opened: set the key again from a copy";
}

std::vector<std::string> Engine::verify(std::size_t most, std::uint64_t& items) {
  Parts parts(*this);
  std::vector<std::string> errors;
  std::uint64_t damaged = 0;
  const auto report = [&](const std::string& error) {
    ++damaged;
    if (errors.size() < most) errors.push_back(error);
  };
  for (const std::uint64_t piece : damaged_pieces_) {
    report("piece " + std::to_string(piece) +
           " of the heap has a damaged entry; its items are absent: restore them from a copy");
  }
  const Moment moment = counters_.moment();
  items = 0;
  const auto verify_cell = [&](std::uint32_t, const Cell& cell) {
    Header header;
    Recovered found;
    bool is_free = false;
    const bool lives = look(parts, moment, cell, header, is_free, found);
    if (is_free) return;
    if (lives) {
      ++items;
    } else {
      report(describe_damage(cell));
    }
  };
  for (std::uint64_t piece = 0; piece < slabs(); ++piece) cells_.each_cell(piece, verify_cell);
  if (damaged > errors.size()) errors.push_back(std::to_string(damaged - errors.size()) + " more items are damaged");
  return errors;
}

}  // namespace holdfast::store::cpu
