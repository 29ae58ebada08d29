// parallel.cpp: threads take the next step of a range until it ends.
#include "threads/parallel.hpp"

#include <algorithm>
#include <atomic>

#include "threads/thread_group.hpp"

namespace holdfast::threads {

bool in_parallel(std::uint64_t total, std::uint64_t step, unsigned threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& part,
                 const std::function<bool(std::uint64_t)>& go_on) {
  if (!go_on(0)) return false;
  std::atomic<std::uint64_t> next = 0, done = 0;
  bool wanted = true;
  ThreadGroup group;
  group.start(threads, [&] {
    for (std::uint64_t begin; !group.stopping() && (begin = next.fetch_add(step)) < total;) {
      const std::uint64_t end = std::min(total, begin + step);
      part(begin, end);
      done += end - begin;
    }
  });
  try {
    for (bool ended = false; !ended;) {
      ended = group.done();
      if (!group.stopping()) wanted = go_on(done);  // once more when all is done, so that the end is reported too
      if (!wanted) group.stop();
    }
  } catch (...) {
    group.stop();
    throw;
  }
  group.join();
  group.rethrow();
  return wanted;
}

}  // namespace holdfast::threads
