// pieces.hpp: how tensors of a GPU come into a copy and back: what the copy engine moves, what warps do, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/layout.hpp"

namespace holdfast::checkpoint {

/// A tensor with at least one byte: where it is, and its place in the data of a copy.
struct Placed {
  std::byte* memory;
  std::uint64_t offset, bytes;
};

/// What one warp moves at a time, and the zeros behind it up to the next tensor.
struct Piece {
  std::byte* memory;
  std::uint64_t offset;
  std::uint32_t bytes, zeros;
};

inline constexpr std::uint64_t kLarge = 4 << 20;    ///< from here on the copy engine moves a tensor
inline constexpr std::uint64_t kPiece = 32 << 10;   ///< the most bytes of a piece
inline constexpr std::uint64_t kGather = 64 << 20;  ///< of data, after which the link begins with what was gathered
static_assert(kGather % kBlock == 0);

/// From the last one's end to `end` a part of the data, complete when its pieces and large tensors were moved.
struct GatherRange {
  std::uint64_t end;
  std::size_t pieces_end, large_end;
};

struct Gathering {
  std::vector<Piece> pieces;  ///< of small tensors, and the zeros behind every tensor
  std::vector<Placed> large;
  std::vector<GatherRange> ranges;
};
/// `tensors` by offset, the first at 0; `end` is a multiple of kAlignment. Every byte before `end` is written once.
Gathering gathering_of(std::span<const Placed> tensors, std::uint64_t end);

/// Whole blocks of the data, or all up to its end, and the pieces that lie in them.
struct Window {
  std::uint64_t begin, end;
  std::size_t pieces_begin, pieces_end;
};

struct Scattering {
  std::vector<Piece> pieces;
  std::vector<Window> windows;
};
/// Windows of at most `most` bytes, a multiple of kBlock, that have every block with a byte of `tensors`, each once, and few
/// others: none.
Scattering scattering_of(std::span<const Placed> tensors, std::uint64_t data_bytes, std::uint64_t most);

}  // namespace holdfast::checkpoint
