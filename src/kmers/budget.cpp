// budget.cpp: asks the system for the memory of the machine, of this container and of this process.
#include "kmers/budget.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// What a thread takes for text, a table and chunks; and what the taker of the k-mers takes to write them.
constexpr std::uint64_t kOfThread = 24 * kMiB, kOfTaker = 96 * kMiB;
/// A count into a pool leaves all but one such part to the pool. A pool takes 20 to 45 bytes a k-mer, which the count cannot
/// do without; bins that do not fit go to a file at little cost.
constexpr std::uint64_t kPoolParts = 8;

/// The number behind `name` in a file of the system; 0 if there is none.
std::uint64_t number_in(const char* path, const std::string& name) {
  std::string text;
  if (system::text(path, text) != 0) return 0;
  const std::size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}

std::uint64_t available() {
  std::uint64_t bytes = number_in("/proc/meminfo", "MemAvailable:") << 10;
  if (bytes == 0)
    bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max", "");  // of a container; "max" is 0
  if (limit == 0) return bytes;
  // Files that the container has read count as used, but are freed when memory is needed.
  const char* const stat = "/sys/fs/cgroup/memory.stat";
  const std::uint64_t files = number_in(stat, "\nactive_file ") + number_in(stat, "\ninactive_file ");
  const std::uint64_t current = number_in("/sys/fs/cgroup/memory.current", "");
  const std::uint64_t used = current > files ? current - files : 0;
  return std::min(bytes, limit > used ? limit - used : 0);
}

std::uint64_t resident() { return number_in("/proc/self/status", "VmRSS:") << 10; }

}  // namespace

Budget budget_for(const KmerOptions& options, std::uint64_t least) {
  std::uint64_t memory = options.memory;
  const unsigned threads = options.threads;
  const std::uint64_t own = resident(), all = available() + own;
  if (memory > all) {
    throw InvalidArgument("the count may take " + std::to_string(memory / kMiB) +
                          " MiB of memory, of which the system has " + std::to_string(all / kMiB) +
                          ": give less, and the rest goes to a file");
  }
  if (memory == 0) memory = all / 4 * 3;
  const std::uint64_t fixed = own + kOfTaker + threads * kOfThread;
  if (memory < fixed + least) {
    throw InvalidArgument("the count may take " + std::to_string(memory / kMiB) + " MiB of memory, and needs " +
                          std::to_string((fixed + least + kMiB - 1) / kMiB) + " with " + std::to_string(threads) +
                          (threads == 1 ? " thread: give more" : " threads: give more, or fewer threads"));
  }
  std::uint64_t bins = memory - fixed;
  if (options.into_pool && options.memory != 0) bins = least + (bins - least) / kPoolParts;
  return {fixed + bins, bins};
}

}  // namespace holdfast::kmers
