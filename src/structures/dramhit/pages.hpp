// pages.hpp: zeroed memory of the process for a table: huge pages, and spread over the nodes of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::dramhit {

struct MemoryChoice {
  bool huge_pages = true;
  bool interleave = true;  ///< pages are interleaved over all NUMA nodes
  bool populate = false;   ///< every page is there at once, not when it is first touched
};

/// Anonymous memory, aligned to huge pages. Throws NoSpace where the system has none.
class Pages {
 public:
  Pages() = default;
  Pages(std::size_t bytes, const MemoryChoice& choice);
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  bool interleaved() const { return interleaved_; }

 private:
  void swap(Pages& other) noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  void* mapped_ = nullptr;  ///< what was mapped: one huge page more
  std::size_t mapped_bytes_ = 0;
  bool interleaved_ = false;
};

/// NUMA nodes of this machine; 1 where the kernel says nothing of them.
unsigned numa_nodes();

}  // namespace holdfast::dramhit
