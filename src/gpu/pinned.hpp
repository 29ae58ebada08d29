// pinned.hpp: host memory that the GPU copies to at the speed of the link, for results of unknown size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace holdfast::gpu {

/// Making such memory takes longer than filling it. So it is kept for the next results when the last owner releases it, as far as
/// it comes to no more than 1/16 of the machine's memory; it may outlive the table.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  PinnedMemory();
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// At least `bytes` bytes, of any contents. Throws DeviceError.
  std::shared_ptr<std::byte[]> take(std::size_t bytes);

 private:
  void give_back(std::byte* memory, std::size_t bytes) noexcept;
  void drop_idle() noexcept;

  std::mutex mutex_;
  std::multimap<std::size_t, std::byte*> idle_;  ///< by size, a power of two
  std::size_t idle_bytes_ = 0, most_idle_;
};

}  // namespace holdfast::gpu
