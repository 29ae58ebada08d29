// commit.hpp: how a directory replaces another, in the only order that survives a crash at any point. Rule 20.
//
//   area      the new directory, where the one before the last lies    durable
//   copy A    of the superblock, which names it                        durable
//   copy B                                                             durable; from now on others may rely on it
#pragma once

#include <cstddef>

#include "core/failpoint.hpp"
#include "pool/copies.hpp"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::pool {

/// `area` is the one that `copies` do not name; `next` names it, and is sealed. `Block` is a Superblock
/// or a smaller one of the model.
template <WritableMemory Memory, class Block>
void commit_directory(const Memory& memory, std::byte* area, const std::byte* directory, std::size_t bytes,
                      Block* copies, const Block& next) {
  store_words(memory, area, directory, bytes);
  memory.fence();
  HOLDFAST_FAILPOINT(directory_written);
  write_copies(memory, copies, next);
}

}  // namespace holdfast::pool
