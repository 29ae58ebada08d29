// world.cpp: the words of modelled group hashing tables, and every access to them.
#include "structures/group/model/world.hpp"

#include <algorithm>
#include <numeric>

namespace holdfast::group::model {

namespace {

constexpr unsigned kRootWords = 8;

proof::ArenaPlan plan_of(const Shape& first, const Shape& second) {
  proof::ArenaPlan plan;
  plan.words = static_cast<unsigned>(kRootWords + first.words() + second.words());
  plan.lines.resize(plan.words);
  std::iota(plan.lines.begin(), plan.lines.end(), std::uint16_t{0});
  return plan;
}

}  // namespace

World::World(Flavour flavour, const Shape& first, const Shape& second, std::uint64_t seed)
    : proof::World(flavour == Flavour::process ? proof::Stores::all : proof::Stores::by_line, plan_of(first, second)),
      locks_(first.groups + second.groups) {
  std::uint64_t* const words = durable_.words() + kRootWords;
  views_[0] = {first, seed, words, locks_.data()};
  views_[1] = {second, seed, words + first.words(), locks_.data() + first.groups};
}

void World::load(const proof::Words& image) {
  restart(image);
  std::fill(locks_.begin(), locks_.end(), 0u);
  waits_ = {};
}

std::uint64_t World::hash() const {
  std::uint64_t hash = durable_.hash();
  for (const VersionLock lock : locks_) hash = mix(hash + lock);
  for (unsigned caller = 0; caller < kMostCallers; ++caller) hash = mix(hash + seen(caller));
  return hash;
}

std::uint64_t ModelMemory::load(const std::uint64_t* from) const { return world_.load(from); }
void ModelMemory::store(std::uint64_t* to, std::uint64_t value) const { world_.store(to, value); }

void ModelMemory::flush(const void* from, std::size_t bytes) const {
  ++world_.flushes;
  world_.flush(from, bytes);
}

void ModelMemory::fence() const {
  ++world_.fences;
  world_.fence();
}

void ModelMemory::wait_for(const VersionLock* lock) const {
  world_.waits_[world_.caller()] = lock;
  do {
    world_.access();  // the first access of a caller is made at once, even if the lock is held
  } while ((*lock & 1) != 0);
  world_.waits_[world_.caller()] = nullptr;
}

std::uint32_t ModelMemory::begin_read(const VersionLock* lock) const {
  if (keeps(Step::wait_for_writer)) {
    wait_for(lock);
  } else {
    world_.access();
  }
  world_.note(*lock);
  return *lock;
}

bool ModelMemory::end_read(const VersionLock* lock, std::uint32_t version) const {
  if (!keeps(Step::validate_read)) return true;
  return world_.peek(lock) == version;
}

void ModelMemory::lock(VersionLock* lock) const {
  wait_for(lock);
  *lock |= 1;
  world_.note(*lock);
}

void ModelMemory::unlock(VersionLock* lock) const {
  world_.access();
  ++*lock;
  world_.note(*lock);
}

}  // namespace holdfast::group::model
