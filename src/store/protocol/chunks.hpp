// chunks.hpp: values that lie in chunks (cell.hpp): their locations, their bytes, and whose they are.
//
//   chunks filled                                       in cells that are vacated
//   the item's cell filled, with their locations
//   owner and number of each chunk      durable         before the item is committed; under the claim, as the number is drawn there
//   the item committed, and one day dead
//   the chunks are free                                 with the item's cell
//
// A chunk means something as long as its item lives and names it. A reader looks at the chunk's owner and number before it copies the bytes,
// and again behind them.
#pragma once

#include <cstdint>

#include "store/protocol/item.hpp"

namespace holdfast::store {

/// Word `kOwnerWord` of a chunk.
HOLDFAST_BOTH constexpr std::uint64_t owner_word(Location item, unsigned chunk) {
  return std::uint64_t{1} << 63 | std::uint64_t{chunk} << 32 | item.word;
}

/// Of chunk `chunk` of an item.
template <ItemMemory Memory>
HOLDFAST_BOTH Location location_of_chunk(Memory& memory, const std::uint64_t* cell, const Header& header,
                                         unsigned chunk) {
  const std::uint64_t two = memory.load(cell + header.value_at() + chunk / 2);
  return {static_cast<std::uint32_t>(two >> 32 * (chunk % 2))};
}

/// Writes the locations of its chunks into an item's cell.
template <ItemMemory Memory>
HOLDFAST_BOTH void name_chunks(Memory& memory, std::uint64_t* cell, const Header& header, const Location* chunks) {
  for (unsigned chunk = 0; chunk < header.chunks; chunk += 2) {
    const std::uint64_t second = chunk + 1 < header.chunks ? chunks[chunk + 1].word : 0;
    memory.store(cell + header.value_at() + chunk / 2, second << 32 | chunks[chunk].word);
  }
}

/// The words of the value that are in chunk `chunk`, each of which but the last has `chunk_words`.
HOLDFAST_BOTH constexpr std::uint64_t words_in_chunk(const Header& header, unsigned chunk, std::uint64_t chunk_words) {
  return chunk + 1u < header.chunks ? chunk_words : header.value_words() - (header.chunks - 1u) * chunk_words;
}

/// Says whose a chunk is. It is durable, with its bytes, when the caller fences.
template <ItemMemory Memory>
HOLDFAST_BOTH void own_chunk(Memory& memory, std::uint64_t* chunk, Location item, unsigned number,
                             std::uint64_t sequence, std::uint64_t words) {
  memory.store(chunk + kOwnerWord, owner_word(item, number));
  memory.store(chunk + kOwnerSequenceWord, sequence);
  if (memory.keeps(Step::flush_chunks)) memory.flush(chunk, 8 * (kChunkHeaderWords + words));
}

/// Whether a chunk is that of an item, as far as its header says.
template <ItemMemory Memory>
HOLDFAST_BOTH bool is_owned(Memory& memory, const std::uint64_t* chunk, Location item, unsigned number,
                            std::uint64_t sequence) {
  return memory.load(chunk + kOwnerWord) == owner_word(item, number) &&
         memory.load(chunk + kOwnerSequenceWord) == sequence;
}

/// Calls `visit(chunk's words, first word of the value, words)` for each chunk of an item. `at(location)` gives a Cell. False: the chunks are not the
/// item's, or not any more, and what was visited means nothing.
template <ItemMemory Memory, class At, class Visit>
HOLDFAST_BOTH bool visit_chunks(Memory& memory, const Cell& cell, const Header& header, std::uint64_t sequence,
                                std::uint64_t chunk_words, const At& at, const Visit& visit) {
  if ((header.chunks - 1u) * chunk_words >= header.value_words() ||
      header.value_words() > header.chunks * chunk_words) {
    return false;
  }
  for (unsigned chunk = 0; chunk < header.chunks; ++chunk) {
    const auto its = at(location_of_chunk(memory, cell.words, header, chunk));
    const std::uint64_t words = words_in_chunk(header, chunk, chunk_words);
    if (its.none() || its.size < kChunkHeaderWords + words) return false;
    if (!is_owned(memory, its.words, cell.location, chunk, sequence)) return false;
    visit(its.words + kChunkHeaderWords, chunk * chunk_words, words);
    memory.order_loads();
    if (memory.keeps(Step::check_chunks) && !is_owned(memory, its.words, cell.location, chunk, sequence)) return false;
  }
  return true;
}

/// Looks at a cell with all that belongs to its item, as `inspect`.
template <ItemMemory Memory, class At>
HOLDFAST_BOTH Found inspect_whole(Memory& memory, const Cell& cell, Header& header, std::uint64_t chunk_words,
                                  const At& at) {
  return inspect(
      memory, cell, header, [&](const Cell& its, const Header& read, std::uint64_t number, std::uint64_t& sum) {
        return visit_chunks(memory, its, read, number, chunk_words, at,
                            [&](const std::uint64_t* chunk, std::uint64_t, std::uint64_t words) {
                              sum = checksum_step(
                                  sum, sum_of(words, [&](std::uint64_t i) { return memory.load(chunk + i); }));
                            });
      });
}

}  // namespace holdfast::store
