// blobs.cpp: puts the rows of a batch's results one after another.
#include "holdfast/blobs.hpp"

#include <cstring>

namespace holdfast {

void Blobs::pack(std::uint64_t* offsets, std::byte* bytes) const {
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    offsets[i] = at;
    if (rows_[i].size != 0) std::memcpy(bytes + at, rows_[i].data, rows_[i].size);
    at += rows_[i].size;
  }
  offsets[size_] = at;
}

}  // namespace holdfast
