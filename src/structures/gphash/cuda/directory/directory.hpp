// directory.hpp: GPU memory for a key directory (search/key_directory.cuh).
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/directory_view.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

/// Alone on the table: searches and changes see it by its view.
class Directory {
 public:
  /// Of keys of so many words; 0: there is no directory.
  void set_key_words(unsigned words) { record_words_ = words == 0 ? 0 : 1 + words; }
  /// For so many positions of a cache. Nothing is known of any.
  void cover(std::uint64_t positions, cudaStream_t stream);
  /// Nothing is known any more.
  void clear(cudaStream_t stream);
  void drop();

  const DirectoryView& view() const { return view_; }
  std::uint64_t bytes() const { return 8 * records_.size() + 4 * hints_.size(); }
  /// At most.
  std::uint64_t bytes_per_position() const;

 private:
  unsigned record_words_ = 0;
  DeviceBuffer<std::uint64_t> records_;
  DeviceBuffer<std::uint32_t> hints_;
  DirectoryView view_;
};

}  // namespace holdfast::gphash::cuda
