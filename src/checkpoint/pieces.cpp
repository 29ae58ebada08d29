// pieces.cpp: cuts tensors into pieces, and the data into ranges and windows.
#include "checkpoint/pieces.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/both.hpp"

namespace holdfast::checkpoint {

Gathering gathering_of(std::span<const Placed> tensors, std::uint64_t end) {
  Gathering made;
  HOLDFAST_ASSERT(end % kAlignment == 0);
  std::uint64_t begun = 0;  // where the present range begins
  const auto end_range = [&](std::uint64_t at) {
    made.ranges.push_back({at, made.pieces.size(), made.large.size()});
    begun = at;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Placed& tensor = tensors[i];
    const std::uint64_t next = i + 1 < tensors.size() ? tensors[i + 1].offset : end;
    HOLDFAST_ASSERT(tensor.bytes != 0 && tensor.offset + tensor.bytes <= next);
    const auto zeros = static_cast<std::uint32_t>(next - tensor.offset - tensor.bytes);
    const std::uint64_t last = tensor.offset + tensor.bytes;
    if (tensor.bytes >= kLarge) {
      made.large.push_back(tensor);
      if (zeros != 0) made.pieces.push_back({nullptr, last, 0, zeros});
    } else {
      for (std::uint64_t at = tensor.offset; at < last; at += kPiece) {
        const auto bytes = static_cast<std::uint32_t>(std::min(kPiece, last - at));
        made.pieces.push_back({tensor.memory + (at - tensor.offset), at, bytes, at + bytes == last ? zeros : 0});
      }
    }
    if (next - begun >= kGather) end_range(next);
  }
  if (begun != end) end_range(end);
  return made;
}

Scattering scattering_of(std::span<const Placed> tensors, std::uint64_t data_bytes, std::uint64_t most) {
  Scattering made;
  HOLDFAST_ASSERT(most != 0 && most % kBlock == 0);
  for (const Placed& tensor : tensors) {
    const std::uint64_t last = tensor.offset + tensor.bytes;
    for (std::uint64_t at = tensor.offset; at < last;) {
      const std::uint64_t block = at / kBlock * kBlock;
      if (made.windows.empty() || block > made.windows.back().end || at >= made.windows.back().begin + most) {
        made.windows.push_back({block, block, made.pieces.size(), made.pieces.size()});
      }
      Window& window = made.windows.back();
      const std::uint64_t bytes = std::min({kPiece, last - at, window.begin + most - at});
      made.pieces.push_back({tensor.memory + (at - tensor.offset), at, static_cast<std::uint32_t>(bytes), 0});
      at += bytes;
      window.end = std::max(window.end, std::min(round_up(at, kBlock), data_bytes));
      window.pieces_end = made.pieces.size();
    }
  }
  return made;
}

}  // namespace holdfast::checkpoint
