// rows.hpp: the engine's batches of one operation.
#pragma once

#include <algorithm>

#include "store/cpu/group.hpp"
#include "store/cpu/together.hpp"

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

template <class ContentOf, class End>
[[gnu::noinline]] void Engine::set_together(const ByteRows& keys, const ContentOf& content, Condition condition,
                                            const End& end) {
  const auto ask = [&](std::size_t row) {
    Ask its;
    its.content = content(row);
    its.condition = condition;
    return its;
  };
  Together(*this).run(keys.size, ask, [&](std::size_t row, Change change, std::uint64_t) { end(row, change); });
}

template <class End>
[[gnu::noinline]] void Engine::erase_together(const ByteRows& keys, const End& end) {
  const auto ask = [&](std::size_t row) {
    Ask its;
    its.kind = Ask::Kind::erase;
    its.content.key = keys[row].data();
    its.content.key_bytes = static_cast<std::uint16_t>(keys[row].size());
    return its;
  };
  Together(*this).run(keys.size, ask, [&](std::size_t row, Change change, std::uint64_t) { end(row, change); });
}

template <class Copy, class End>
void Engine::read(const ByteRows& keys, const Copy& copy, const End& end) {
  if (index_.is_batched()) return read_looked_up(keys, copy, end);
  BatchParts parts(*this);
  for (std::size_t first = 0; first < keys.size; first += kInFlight) {
    const std::size_t size = std::min(kInFlight, keys.size - first);
    parts.fetch(keys, first, size, [](std::size_t) { return BatchParts::kNoCell; });
    for (std::size_t i = 0; i < size; ++i) {
      const Cell found = find(parts, parts.key(i), parts.begun(), parts.fetched(i),
                              [&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
                                return copy(first + i, header, state, sequence, cell);
                              });
      if (!found.none()) cells_.mark(found.location);
      end(first + i, !found.none());
    }
  }
}

template <class Copy, class Keep, class Restart>
void Engine::read_candidates(const ByteRows& keys, const Copy& copy, const Keep& keep, const Restart& restart) {
  BatchParts parts(*this);
  for (std::size_t first = 0; first < keys.size; first += kInFlight) {
    const std::size_t size = std::min(kInFlight, keys.size - first);
    parts.fetch(keys, first, size, [](std::size_t) { return BatchParts::kNoCell; });
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
      find_candidates(parts, parts.key(i), parts.begun(), parts.fetched(i), note, kept, [&] { restart(first + i); });
    }
  }
}

template <class ContentOf, class End>
void Engine::set(const ByteRows& keys, const ContentOf& content, Condition condition, const End& end) {
  if (index_.is_batched()) return set_together(keys, content, condition, end);
  BatchParts parts(*this);
  for (std::size_t first = 0; first < keys.size; first += kInFlight) {
    const std::size_t size = std::min(kInFlight, keys.size - first);
    parts.fetch(keys, first, size, [&](std::size_t row) { return content(row).header().words(); });
    for (std::size_t i = 0; i < size; ++i) end(first + i, set(parts, parts.key(i), content(first + i), condition, 0));
  }
}

template <class End>
void Engine::erase(const ByteRows& keys, const End& end) {
  if (index_.is_batched()) return erase_together(keys, end);
  BatchParts parts(*this);
  for (std::size_t first = 0; first < keys.size; first += kInFlight) {
    const std::size_t size = std::min(kInFlight, keys.size - first);
    parts.fetch(keys, first, size, [](std::size_t) { return BatchParts::kNoCell; });
    for (std::size_t i = 0; i < size; ++i) end(first + i, store::erase(parts, parts.key(i)));
  }
}

}  // namespace holdfast::store::cpu
