// world.cpp: the accesses that worlds of models have in common.
#include "proof/world.hpp"

namespace holdfast::proof {

Watcher World::nobody_;

void World::set_watcher(Watcher* watcher) { watcher_ = watcher != nullptr ? watcher : &nobody_; }

void World::restart(const Words& image) {
  durable_.load(image);
  seen_ = {};
  caller_ = 0;
}

std::uint64_t World::load(const std::uint64_t* word) {
  access();
  durable_.observe(caller_, word);
  note(*word);
  return *word;
}

void World::store(std::uint64_t* word, std::uint64_t value) {
  access();
  note(value);
  durable_.store(caller_, word, value);
  watcher_->stored();
}

void World::flush(const void* address, std::size_t bytes) {
  access();
  note(bytes);
  durable_.flush(caller_, address, bytes);
}

void World::fence() {
  access();
  note(1);
  durable_.fence(caller_);
}

void World::note(std::uint64_t value) { seen_[caller_] = mix(seen_[caller_] + value + 0x9e37'79b9'7f4a'7c15); }

}  // namespace holdfast::proof
