// fork.cpp: the handlers that run around fork().
#include "structures/dramhit/fork.hpp"

#include <pthread.h>

#include <mutex>
#include <new>
#include <vector>

namespace holdfast::dramhit {
namespace {

struct Watched {
  std::mutex mutex;  // held while the process forks
  std::vector<StandsStill*> all;
};

Watched& watched();

void go_on(bool in_child) {
  Watched& here = watched();
  for (StandsStill* const one : here.all) one->go_on(in_child);
  here.mutex.unlock();
}

/// Never destroyed: tables may end after static objects do.
Watched& watched() {
  static Watched* const instance = [] {
    auto* const made = new Watched;
    const auto before = [] {
      Watched& here = watched();
      here.mutex.lock();
      for (StandsStill* const one : here.all) one->stand_still();
    };
    if (pthread_atfork(
            before, [] { go_on(false); }, [] { go_on(true); }) != 0)
      throw std::bad_alloc();
    return made;
  }();
  return *instance;
}

}  // namespace

void watch_forks(StandsStill& one) {
  Watched& here = watched();
  const std::lock_guard lock(here.mutex);
  here.all.push_back(&one);
}

void forget_forks(StandsStill& one) {
  Watched& here = watched();
  const std::lock_guard lock(here.mutex);
  std::erase(here.all, &one);
}

}  // namespace holdfast::dramhit
