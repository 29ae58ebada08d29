// rows.hpp: the engine's batches of one operation.
#pragma once

#include <algorithm>

#include "store/cpu/group.hpp"

namespace holdfast::store::cpu {

/// The index is asked for many rows at once.
template <class Copy, class End>
[[gnu::noinline]] void Engine::read_looked_up(const ByteRows& keys, const Copy& copy, const End& end) {
  constexpr std::size_t kMost = std::size_t{1} << 15;
  Lookup lookup;
  for (std::size_t first = 0; first < keys.size; first += kMost) {
    const ByteRows some{keys.bytes, keys.offsets + first, std::min(kMost, keys.size - first)};
    lookup.look_up(*this, some, some.size);
    lookup.run(some, [&](std::size_t row, const auto& look) {
      const Look found = look([&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
        return copy(first + row, header, state, sequence, cell);
      });
      if (found != Look::again) end(first + row, found == Look::found);
      return found;
    });
  }
}

template <class Copy, class End>
void Engine::read(const ByteRows& keys, const Copy& copy, const End& end) {
  if (index_.is_batched()) return read_looked_up(keys, copy, end);
  Group group(*this);
  const auto reads = [](std::size_t) { return Group::kReads; };
  group.run(keys, keys.size, reads, [&](std::size_t row) {
    end(row, group.read([&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
      return copy(row, header, state, sequence, cell);
    }));
  });
}

template <class Copy, class Keep, class Restart>
void Engine::read_candidates(const ByteRows& keys, const Copy& copy, const Keep& keep, const Restart& restart) {
  BatchParts parts(*this);
  for (std::size_t first = 0; first < keys.size; first += kInFlight) {
    const std::size_t size = std::min(kInFlight, keys.size - first);
    parts.fetch(keys, first, size, [](std::size_t) { return BatchParts::kReads; });
    for (std::size_t i = 0; i < size; ++i) {
      Location read;
      const auto note = [&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
        read = cell.location;
        return copy(header, state, sequence, cell);
      };
      const auto kept = [&] {
        cells_.mark(read);
        keep(first + i);
      };
      const Key& key = parts.begin_row(i);
      find_candidates(parts, key, parts.begun(), parts.fetched(), note, kept, [&] { restart(first + i); });
    }
  }
}

template <class ContentOf, class End>
void Engine::set(const ByteRows& keys, const ContentOf& content, Condition condition, const End& end) {
  Group group(*this);
  group.run(
      keys, keys.size, [&](std::size_t row) { return content(row).header().words(); },
      [&](std::size_t row) { end(row, group.set(content(row), condition, 0)); });
}

template <class End>
void Engine::erase(const ByteRows& keys, const End& end) {
  Group group(*this);
  const auto none = [](std::size_t) { return Group::kNoCell; };
  group.run(keys, keys.size, none, [&](std::size_t row) { end(row, group.erase()); });
}

}  // namespace holdfast::store::cpu
