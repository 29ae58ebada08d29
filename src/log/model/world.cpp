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

proof::ArenaPlan plan_of(const LogShape& shape, unsigned data_words) {
  proof::ArenaPlan plan;
  plan.words = kLineWords + lines(shape.places()) + lines(shape.words()) + lines(data_words);
  return plan;
}

}  // namespace

World::World(Flavour flavour, const LogShape& shape, unsigned data_words)
    : proof::World(stores_of(flavour), plan_of(shape, data_words)),
      shape_(shape),
      tails_at_(kLineWords),
      entries_at_(tails_at_ + lines(shape.places())),
      data_at_(entries_at_ + lines(shape.words())),
      shown_(shape.places()),
      holds_(shape.places()) {}

View<ModelMemory> World::view() {
  std::uint64_t* const words = durable_.words();
  return {shape_, words, words + tails_at_, words + entries_at_, shown_.data(), holds_.data()};
}

void World::load(const proof::Words& image) {
  restart(image);
  std::fill(shown_.begin(), shown_.end(), 0u);
  std::fill(holds_.begin(), holds_.end(), 0u);
  waits_ = {};
}

std::uint64_t World::hash() const {
  std::uint64_t hash = durable_.hash();
  for (std::size_t i = 0; i < shown_.size(); ++i) hash = mix(hash + shown_[i] + 31 * holds_[i]);
  for (unsigned caller = 0; caller < kMostCallers; ++caller) hash = mix(hash + seen(caller));
  return hash;
}

bool World::list(std::uint64_t place, unsigned words, std::vector<std::uint32_t>& values) {
  ModelMemory memory(*this);
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

std::uint32_t ModelMemory::load(const Word* word) const { return static_cast<std::uint32_t>(world_.load(word)); }

void ModelMemory::store(Word* word, std::uint32_t value) const { world_.store(word, value); }

void ModelMemory::flush(const void* address, std::size_t bytes) const {
  flush_strided(static_cast<const Word*>(address), static_cast<std::uint32_t>(bytes / sizeof(Word)), 1);
}

/// One access, however many lines it flushes.
void ModelMemory::flush_strided(const Word* first, std::uint32_t words, std::uint32_t stride) const {
  world_.access();
  world_.note(words);
  for (std::uint32_t k = 0; k < words; ++k) {
    world_.durable().flush(world_.caller(), first + std::uint64_t{k} * stride, 8);
  }
}

void ModelMemory::fence() const { world_.fence(); }

std::uint32_t ModelMemory::shown(const std::uint32_t* word) const { return world_.peek(word); }

void ModelMemory::show(std::uint32_t* word, std::uint32_t value) const {
  *word = value;
  world_.note(value);
}

void ModelMemory::take(std::uint32_t* hold) const {
  world_.waits_[world_.caller()] = hold;
  do {
    world_.access();  // the first access of a caller is made at once, even if it is held
  } while (*hold != 0);
  world_.waits_[world_.caller()] = nullptr;
  *hold = 1;
  world_.note(1);
}

}  // namespace holdfast::log::model
