// fork.cpp: the handlers that run around fork(), and the descriptors that they close.
#include "system/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "system/calls.hpp"

namespace holdfast::system {

namespace {

struct Watched {
  std::mutex mutex;
  std::vector<int> descriptors;
};

/// Never destroyed: pools may be closed after static objects are.
Watched& watched() {
  static Watched* const instance = [] {
    auto* const made = new Watched;
    const auto child = [] {
      Watched& here = watched();
      for (const int descriptor : here.descriptors)
        system::close_in_child(descriptor);  // and no unlock: that would be the parent's
      here.descriptors.clear();
      forks_before.fetch_add(1, std::memory_order_relaxed);
      here.mutex.unlock();
    };
    if (pthread_atfork([] { watched().mutex.lock(); }, [] { watched().mutex.unlock(); }, child) != 0) {
      throw std::bad_alloc();
    }
    return made;
  }();
  return *instance;
}

}  // namespace

unsigned fork_generation() {
  watched();  // from now on forks are counted
  return forks_before.load(std::memory_order_relaxed);
}

NoFork::NoFork() { watched().mutex.lock(); }
NoFork::~NoFork() { watched().mutex.unlock(); }
void NoFork::make_space() const { watched().descriptors.reserve(watched().descriptors.size() + 1); }
void NoFork::watch(int descriptor) const { watched().descriptors.push_back(descriptor); }
void NoFork::forget(int descriptor) const { std::erase(watched().descriptors, descriptor); }

}  // namespace holdfast::system
