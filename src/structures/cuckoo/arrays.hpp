// arrays.hpp: what every driver checks of a batch and of its options, and how large an index it makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "structures/cuckoo/entry.hpp"

namespace holdfast::cuckoo {

// Each throws InvalidArgument unless
void require_equal(std::size_t rows, std::size_t size, const char* array);  ///< the array has an element per row
void require_locations(std::span<const Location> locations);                ///< none of them is kNone
void require_capacity(std::uint64_t entries);                               ///< 32-bit locations can name so many
void require_signature_bits(unsigned bits);                                 ///< 1 to 32
void require_rows(std::uint64_t rows);                                      ///< of a batch: fewer than 2^32

/// Entries for which an index of 2^bits buckets is made: a fifth of its cells stays empty.
constexpr std::uint64_t entries_of(unsigned bits) { return (std::uint64_t{8} << bits) / 10 * 8; }
/// log2 of the buckets of an index for so many entries.
unsigned bits_for(std::uint64_t entries);

/// An index that finds no cell although it is emptier than this part has more than 16 keys of one signature in one pair of buckets, and growth
/// helps no more.
inline constexpr std::uint64_t kLeastFull = 4;

}  // namespace holdfast::cuckoo
