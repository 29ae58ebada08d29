// little_memory.hpp: a process that gets hardly more memory from the system, and so stacks for a few threads only.
#pragma once

#include <sys/resource.h>

#include <fstream>

namespace holdfast::test {

/// While one lives. Not under sanitizers, which need their address space.
class LittleMemory {
 public:
  LittleMemory() {
    getrlimit(RLIMIT_AS, &before_);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlimit now{pages * 4096 + (rlim_t{30} << 20), before_.rlim_max};
    setrlimit(RLIMIT_AS, &now);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace holdfast::test
