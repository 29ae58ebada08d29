// fresh_rows.cpp: memory of rows, by blocks of large chunks.
#include "structures/cuckoo/fresh_rows.hpp"

namespace holdfast::cuckoo {

void FreshRows::begin_block(Part& part) {
  constexpr std::size_t kBytes = kBlockRows * sizeof(Row);
  if (next_ == end_) {
    chunks_.push_back({chunk_bytes_, {.huge_pages = chunk_bytes_ == kLargeChunk, .interleave = false}});
    next_ = chunks_.back().data();
    end_ = next_ + chunk_bytes_;
  }
  part.blocks.push_back(reinterpret_cast<Row*>(next_));
  part.next = part.blocks.back();
  part.end = part.next + kBlockRows;
  next_ += kBytes;
}

}  // namespace holdfast::cuckoo
