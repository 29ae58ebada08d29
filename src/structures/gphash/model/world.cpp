// world.cpp: performs the accesses of a world, one at a time, and keeps the hash of its state.
#include "structures/gphash/model/world.hpp"

#include <algorithm>
#include <cstring>

#include "core/both.hpp"
#include "heap/slab.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast::gphash::model {

namespace {

Regions regions_of(const ModelShape& shape) {
  Regions regions;
  regions.slots_begin = kDirectoryWords;
  unsigned slots = 1;
  for (unsigned level = 0; level <= shape.top_level + shape.spare_levels; ++level) slots += shape.slots << level;
  regions.slot_words = gphash::slot_bytes(shape.key_words) / 8;
  regions.heap_begin = regions.slots_begin + regions.slot_words * slots;
  regions.cell_words = static_cast<unsigned>(gphash::cell_bytes_of(shape.value_bytes, shape.score) / 8);
  if (shape.variable) regions.cell_words = (1u << kModelSlabBits) / 8;
  regions.pairs = shape.variable;
  regions.words = regions.heap_begin + shape.cells * regions.cell_words;
  return regions;
}

/// The words of the heap that recovery may read: those of cells that an occupied slot of `image` names, and of the directory.
std::vector<bool> named_words(const Regions& regions, const Image& image) {
  std::vector<bool> named(regions.words - regions.heap_begin, false);
  const auto name = [&](std::uint64_t begin, std::uint64_t words) {
    for (std::uint64_t i = begin; i < begin + words && i < named.size(); ++i) named[i] = true;
  };
  if (regions.pairs) name(0, regions.cell_words);
  for (unsigned i = regions.slots_begin; i < regions.heap_begin; i += regions.slot_words) {
    const std::uint64_t word = image[i + 1];
    if (image[i] == 0 || word == 0) continue;
    const heap::CellWord pair{word};
    if (!regions.pairs) {
      if (word <= named.size()) name((word - 1) * regions.cell_words, regions.cell_words);
    } else if (pair.size_class() < heap::kClasses) {
      name(pair.begin() / 8, heap::class_bytes(pair.size_class()) / 8);
    }
  }
  return named;
}

}  // namespace

const char* name(Flavour flavour) {
  switch (flavour) {
    case Flavour::process: return "process";
    case Flavour::power: return "power";
    case Flavour::resident: return "resident";
    case Flavour::gpu: break;
  }
  return "gpu";
}

proof::ArenaPlan plan_of(const Regions& regions, Flavour flavour) {
  proof::ArenaPlan plan;
  plan.words = regions.words;
  for (unsigned word = 0; word < regions.words; ++word) {
    const bool in_slot = word >= regions.slots_begin && word < regions.heap_begin;
    plan.lines.push_back(static_cast<std::uint16_t>(in_slot ? word & ~1u : word));
  }
  if (flavour == Flavour::resident) {  // who shows slots to readers writes whole lines
    plan.rewritten_begin = regions.slots_begin;
    plan.rewritten_end = regions.heap_begin;
  }
  plan.rest_begin = regions.heap_begin;
  plan.is_read = [regions](const Image& image) { return named_words(regions, image); };
  return plan;
}

void encode_key(std::uint64_t number, const ModelShape& shape, std::uint64_t* words) {
  words[0] = number;
  if (shape.key_words == 1 && !shape.variable) return;
  const std::uint64_t first = number & 0xffff'ffff;
  if (shape.variable) {  // as gphash::hash_of begins
    const std::uint64_t seed = mix(shape.seed ^ (8 * kKeyWords));
    words[1] = mix(seed + first) - mix(seed + number);
    return;
  }
  words[1] = mix(shape.seed + first) - mix(shape.seed + number);
}

const char* name(Access access) {
  constexpr const char* kNames[] = {"load", "store", "flush", "fence",     "peek",  "poke",
                                    "swap", "add",   "take",  "give back", "retire"};
  return kNames[static_cast<unsigned>(access)];
}

World::World(Flavour flavour, const ModelShape& shape)
    : proof::World(stores_of(flavour), plan_of(regions_of(shape), flavour)),
      flavour_(flavour),
      shape_(shape),
      regions_(regions_of(shape)) {
  HOLDFAST_ASSERT(shape.value_bytes % 8 == 0 && shape.cells <= 64 && shape.key_words <= kKeyWords);
  HOLDFAST_ASSERT(!shape.variable || shape.cells <= kMaxModelSlabs);
  copies_begin_ = layout(shape.top_level + shape.spare_levels).tag_words();
  const Regions& at = regions();
  volatile_.resize(copies_begin_ + (flavour == Flavour::resident ? at.heap_begin - at.slots_begin : 0), 0);
  trace_.reserve(1024);
}

unsigned World::level_begin(unsigned number) const {
  return regions_.slots_begin + regions_.slot_words * (1 + shape_.slots * ((1u << number) - 1));
}

gphash::Slot* World::level(unsigned number) {
  return reinterpret_cast<gphash::Slot*>(durable_.words() + level_begin(number));
}

gphash::View<gphash::RuntimeShape> World::layout(unsigned top_level) {
  gphash::View<gphash::RuntimeShape> view;
  view.shape = {shape_.levels, shape_.hashes, shape_.slots, shape_.key_words};
  view.top_level = top_level;
  view.value_bytes = shape_.value_bytes;
  view.cell_bytes = static_cast<std::uint32_t>(gphash::cell_bytes_of(shape_.value_bytes, shape_.score));
  if (shape_.variable) view.cell_bytes = 1u << kModelSlabBits;
  view.slab_bits = kModelSlabBits;
  view.may_move = shape_.may_move;
  view.score = shape_.score;
  view.seed = shape_.seed;
  view.cells = shape_.cells;
  for (unsigned rank = 0; rank < shape_.levels; ++rank) view.level[rank] = level(top_level - rank);
  view.reserved_slot = reserved_slot();
  view.heap = reinterpret_cast<std::byte*>(durable_.words() + regions_.heap_begin);
  view.tags = volatile_.data();
  return view;
}

void World::load(const Image& image) {
  restart(image);
  std::fill(volatile_.begin(), volatile_.end(), 0);
  volatile_hash_ = 0;
  free_.clear();
  entered_.fill(0);
  retired_.clear();
  inside_ = 0;
  items_ = 0;
  trace_.clear();
  for (Caller& caller : callers_) {
    caller.retired.clear();
    caller.misses = 0;
    caller.last_word = caller.waits_for = caller.held = nullptr;
    caller.seen_before = 0;
    caller.missed_move = false;
  }
  // As at open: the copies are taken before recovery looks at a slot.
  for (std::size_t i = copies_begin_; i < volatile_.size(); ++i)
    set_volatile(&volatile_[i], durable_.words()[regions().slots_begin + i - copies_begin_]);
}

std::uint64_t* World::copy_of(const std::uint64_t* word) {
  if (flavour_ != Flavour::resident || !durable_.holds(word)) return nullptr;
  const auto at = static_cast<std::size_t>(word - durable_.words());
  if (at < regions().slots_begin || at >= regions().heap_begin) return nullptr;
  return &volatile_[copies_begin_ + at - regions().slots_begin];
}

bool World::copies_agree() {
  if (flavour_ != Flavour::resident) return true;
  for (unsigned at = regions().slots_begin; at < regions().heap_begin; at += regions().slot_words) {
    const std::uint64_t* const slot = durable_.words() + at;
    const std::uint64_t* const copy = copy_of(slot);
    // Only what stands behind the fingerprint of an empty wide slot may differ: it means nothing.
    const unsigned words = shape_.key_words == 1 || slot[0] != 0 ? regions().slot_words : 1;
    if (!std::equal(copy, copy + words, slot)) return false;
  }
  return true;
}

World::Snapshot World::settle() {
  HOLDFAST_ASSERT(inside_ == 0 && retired_.empty());
  durable_.settle();
  return {durable_.settled(), volatile_, free_, entered_, items_};
}

void World::load(const Snapshot& snapshot) {
  load(snapshot.image);
  volatile_hash_ = 0;
  std::copy(snapshot.words.begin(), snapshot.words.end(), volatile_.begin());
  for (std::size_t i = 0; i < volatile_.size(); ++i) volatile_hash_ += word_hash(i, volatile_[i]);
  free_ = snapshot.free;
  entered_ = snapshot.entered;
  items_ = snapshot.items;
}

void World::enter(unsigned caller) { inside_ |= 1u << caller; }

void World::leave(unsigned caller) {
  inside_ &= ~(1u << caller);
  for (Retired& cell : retired_) cell.readers &= ~(1u << caller);
  for (const std::uint64_t cell : callers_[caller].retired) retired_.push_back({cell, inside_});
  callers_[caller].retired.clear();
  std::erase_if(retired_, [&](const Retired& cell) {
    if (cell.readers != 0) return false;
    free_.push_back(cell.cell);
    return true;
  });
}

bool World::is_blocked(unsigned caller) const {
  const Caller& me = callers_[caller];
  return me.waits_for != nullptr && *me.waits_for == me.waits_while;
}

std::uint64_t World::load(const std::uint64_t* word) {
  const std::uint64_t value = proof::World::load(word);
  trace(Access::load, word, value);
  looked_at(word, value);
  return value;
}

void World::store(std::uint64_t* word, std::uint64_t value) {
  proof::World::store(word, value);
  trace(Access::store, word, value);
}

void World::flush(const void* address, std::size_t bytes) {
  if (flavour_ != Flavour::power) return;
  proof::World::flush(address, bytes);
  trace(Access::flush, address, bytes);
}

void World::fence() {
  if (flavour_ == Flavour::process) return;
  proof::World::fence();
  trace(Access::fence, nullptr, 0);
}

std::uint64_t World::peek(const std::uint64_t* word) {
  const std::uint64_t value = proof::World::peek(word);
  trace(Access::peek, word, value);
  looked_at(word, value);
  return value;
}

void World::set_volatile(std::uint64_t* word, std::uint64_t value) {
  if (word >= volatile_.data() && word < volatile_.data() + volatile_.size()) {
    const auto at = static_cast<std::uint64_t>(word - volatile_.data());
    volatile_hash_ += word_hash(at, value) - word_hash(at, *word);
  }
  *word = value;
}

void World::poke(std::uint64_t* word, std::uint64_t value) {
  access();
  trace(Access::poke, word, value);
  note(value);
  set_volatile(word, value);
}

bool World::swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) {
  access();
  const bool won = *word == seen;
  trace(Access::swap, word, won ? value : *word);
  note(won);
  callers_[caller()].last_word = nullptr;  // the loser looks again, and waits if it must
  if (won) set_volatile(word, value);
  return won;
}

void World::add(std::uint64_t* word, std::uint64_t amount) {
  access();
  trace(Access::add, word, amount);
  note(amount);
  set_volatile(word, *word + amount);
}

void World::write_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  HOLDFAST_ASSERT(bytes % 8 == 0);
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t value;
    // A copy from cell to cell reads word by word, too.
    if (durable_.holds(from)) {
      value = load(reinterpret_cast<const std::uint64_t*>(from + at));
    } else {
      std::memcpy(&value, from + at, 8);
    }
    store(reinterpret_cast<std::uint64_t*>(to + at), value);
  }
}

void World::read_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  HOLDFAST_ASSERT(bytes % 8 == 0);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t value = load(reinterpret_cast<const std::uint64_t*>(from + at));
    std::memcpy(to + at, &value, 8);
  }
}

std::uint64_t World::hash() const {
  std::uint64_t hash = mix(durable_.hash() + mix(volatile_hash_ + 1));
  const auto add = [&](std::uint64_t value) { hash = mix(hash + value + 0x51ed'270b'7a03'9d1f); };
  for (const std::uint64_t cell : free_) add(cell);
  add(kNone);
  for (unsigned slab = 0; shape_.variable && slab < shape_.cells; ++slab) add(entered_[slab]);
  for (const Retired& cell : retired_) add(cell.cell * 16 + cell.readers);
  add(inside_);
  add(static_cast<std::uint64_t>(items_));
  for (unsigned number = 0; number < kMaxCallers; ++number) {
    const Caller& caller = callers_[number];
    add(seen(number));
    add(caller.waits_for != nullptr);
    for (const std::uint64_t cell : caller.retired) add(cell + 1000);
  }
  return hash;
}

}  // namespace holdfast::gphash::model
