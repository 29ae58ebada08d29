// world.cpp: the words and the volatile parts of a modelled store, and every access to them.
#include "store/model/world.hpp"

#include <cstring>

#include "core/both.hpp"

namespace holdfast::store::model {

namespace {

proof::ArenaPlan plan_of(const Shape& shape) {
  proof::ArenaPlan plan;
  plan.words = shape.cells * shape.cell_words();
  return plan;
}

}  // namespace

World::World(Flavour flavour, const Shape& shape)
    : proof::World(flavour == Flavour::process ? proof::Stores::all : proof::Stores::by_line, plan_of(shape)),
      flavour_(flavour),
      shape_(shape) {
  HOLDFAST_ASSERT(shape.keys <= kMostKeys && shape.cells <= kMostCells);
}

void World::load(const proof::Words& image) {
  restart(image);
  set_volatile_part({});
}

void World::set_volatile_part(const Volatile& part) {
  index_ = part.index;
  claims_ = part.claims;
  free_ = part.free;
  newest_ = part.newest;
  waits_ = {-1, -1, -1, -1};
}

std::uint64_t World::hash() const {
  std::uint64_t hash = mix(durable_.hash() + newest_);
  for (unsigned k = 0; k < kMostKeys; ++k)
    hash = mix(hash + static_cast<std::uint64_t>(index_[k] + 1) + 256 * claims_[k]);
  for (unsigned c = 0; c < kMostCells; ++c) hash = mix(hash + free_[c]);
  for (unsigned caller = 0; caller < kMostCallers; ++caller) hash = mix(hash + seen(caller));
  return hash;
}

bool ModelMemory::flushes() const { return world_.flushes(); }
std::uint64_t ModelMemory::load(const std::uint64_t* word) const { return world_.load(word); }
void ModelMemory::store(std::uint64_t* word, std::uint64_t value) const { world_.store(word, value); }
void ModelMemory::flush(const void* address, std::size_t bytes) const {
  if (world_.flushes()) world_.flush(address, bytes);
}
void ModelMemory::fence() const {
  if (world_.flushes()) world_.fence();
}

unsigned ModelParts::number_of(Key key) {
  std::uint64_t number = 0;
  std::memcpy(&number, key.data, 8);
  return static_cast<unsigned>(number);
}

unsigned ModelParts::number_of(const std::uint64_t* cell) {
  return static_cast<unsigned>(cell - world_.cell(0)) / world_.shape().cell_words();
}

void ModelParts::claim(Key key) {
  const unsigned k = number_of(key);
  world_.waits_[world_.caller()] = static_cast<int>(k);
  do {
    world_.access();  // the first access of a caller is made at once, whoever has the claim
  } while (world_.claims_[k]);
  world_.waits_[world_.caller()] = -1;
  world_.claims_[k] = true;
  world_.note(1);
}

void ModelParts::release(Key key) {
  world_.access();
  world_.note(2);
  world_.claims_[number_of(key)] = false;
}

bool ModelParts::claimed(Key key) { return world_.peek(&world_.claims_[number_of(key)]); }

std::uint64_t* ModelParts::lookup(Key key) { return cell_of(world_.peek(&world_.index_[number_of(key)])); }

std::uint64_t* ModelParts::exchange(Key key, std::uint64_t* cell) {
  int& entry = world_.index_[number_of(key)];
  const int old = world_.peek(&entry);
  entry = cell == nullptr ? -1 : static_cast<int>(number_of(cell));
  return cell_of(old);
}

std::uint64_t* ModelParts::take(std::uint64_t words) {
  HOLDFAST_ASSERT(words <= world_.shape().cell_words());
  world_.access();
  for (unsigned c = 0; c < world_.shape().cells; ++c) {
    if (!world_.free_[c]) continue;
    world_.free_[c] = false;
    world_.note(c + 1);
    return world_.cell(c);
  }
  world_.note(0);
  return nullptr;
}

void ModelParts::give(std::uint64_t* cell) {
  world_.access();
  world_.note(3);
  HOLDFAST_ASSERT(!world_.free_[number_of(cell)]);
  world_.free_[number_of(cell)] = true;
}

std::uint64_t ModelParts::draw() {
  world_.access();
  world_.note(++world_.newest_);
  return world_.newest_;
}

std::uint64_t ModelParts::newest() { return world_.peek(&world_.newest_); }

}  // namespace holdfast::store::model
