// anonymous_memory.hpp: zeroed memory of the process for measurements, with huge pages on request.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::bench {

class AnonymousMemory {
 public:
  AnonymousMemory(std::size_t bytes, bool huge_pages) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) {
      throw SystemError("mapping " + std::to_string(bytes) + " bytes for a measurement failed; measure fewer");
    }
    madvise(data_, bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(data_, 0, bytes);  // every page is there before the clock runs
  }
  AnonymousMemory(const AnonymousMemory&) = delete;
  AnonymousMemory& operator=(const AnonymousMemory&) = delete;
  ~AnonymousMemory() { munmap(data_, bytes_); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace holdfast::bench
