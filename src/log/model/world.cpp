// world.cpp: the words of a modelled log, and every access to them.
#include "log/model/world.hpp"

#include <algorithm>

namespace holdfast::log::model {

namespace {

constexpr unsigned kLineWords = 8;

unsigned lines(std::uint64_t words) {
  return static_cast<unsigned>((words + kLineWords - 1) / kLineWords * kLineWords);
}

proof::Stores stores_of(Flavour flavour) {
  if (flavour == Flavour::process) return proof::Stores::all;
  return flavour == Flavour::power ? proof::Stores::by_line : proof::Stores::by_word;
}

proof::ArenaPlan plan_of(const Shape& shape, unsigned data_words) {
  proof::ArenaPlan plan;
  plan.words = kLineWords + lines(shape.places()) + lines(shape.words()) + lines(data_words);
  return plan;
}

}  // namespace

World::World(Flavour flavour, const Shape& shape, unsigned data_words)
    : arena(stores_of(flavour), plan_of(shape, data_words)),
      shape_(shape),
      tails_at_(kLineWords),
      entries_at_(tails_at_ + lines(shape.places())),
      data_at_(entries_at_ + lines(shape.words())),
      shown_(shape.places()),
      holds_(shape.places()) {}

View<ModelMemory> World::view() {
  std::uint64_t* const words = arena.words();
  return {shape_, words, words + tails_at_, words + entries_at_, shown_.data(), holds_.data()};
}

void World::load(const proof::Words& image) {
  arena.load(image);
  std::fill(shown_.begin(), shown_.end(), 0u);
  std::fill(holds_.begin(), holds_.end(), 0u);
  waits = {};
  did = {};
}

std::uint64_t World::hash() const {
  std::uint64_t hash = arena.hash();
  for (std::size_t i = 0; i < shown_.size(); ++i) hash = mix(hash + shown_[i] + 31 * holds_[i]);
  for (const std::uint64_t one : did) hash = mix(hash + one);
  return hash;
}

bool World::list(std::uint64_t place, unsigned words, std::vector<std::uint32_t>& values) {
  ModelMemory memory(*this, 0);
  const View<ModelMemory> log = view();
  values.clear();
  for (std::uint32_t back = count(memory, log, place); back-- > 0;) {
    std::uint32_t entry[kMostWords] = {};
    if (read(memory, log, place, entry, words, back) != LogStatus::ok) return false;
    for (unsigned k = 0; k < words; ++k) {
      if (entry[k] != entry[0] / 16 * 16 + k) return false;
    }
    values.push_back(entry[0] / 16);
  }
  return true;
}

std::uint32_t ModelMemory::load(const Word* word) const {
  world_.before();
  world_.arena.observe(caller_, word);
  world_.did[caller_] = mix(world_.did[caller_] + *word + 1);
  return static_cast<std::uint32_t>(*word);
}

void ModelMemory::store(Word* word, std::uint32_t value) const {
  world_.before();
  world_.did[caller_] = mix(world_.did[caller_] + 2);
  world_.arena.store(caller_, word, value);
}

void ModelMemory::flush(const Word* first, std::uint32_t words) const { flush_strided(first, words, 1); }

void ModelMemory::flush_strided(const Word* first, std::uint32_t words, std::uint32_t stride) const {
  world_.before();
  world_.did[caller_] = mix(world_.did[caller_] + 3);
  for (std::uint32_t k = 0; k < words; ++k) world_.arena.flush(caller_, first + std::uint64_t{k} * stride, 8);
}

void ModelMemory::fence() const {
  world_.before();
  world_.did[caller_] = mix(world_.did[caller_] + 4);
  world_.arena.fence(caller_);
}

std::uint32_t ModelMemory::shown(const std::uint32_t* word) const {
  world_.before();
  world_.did[caller_] = mix(world_.did[caller_] + *word + 5);
  return *word;
}

void ModelMemory::show(std::uint32_t* word, std::uint32_t value) const {
  *word = value;
  world_.did[caller_] = mix(world_.did[caller_] + 6);
}

void ModelMemory::take(std::uint32_t* hold) const {
  world_.waits[caller_] = hold;
  do {
    world_.before();  // the first access of a caller is made at once, whoever holds it
  } while (*hold != 0);
  world_.waits[caller_] = nullptr;
  *hold = 1;
  world_.did[caller_] = mix(world_.did[caller_] + 7);
}

}  // namespace holdfast::log::model
