// world.cpp: the words and the volatile parts of a modelled store, and every access to them.
#include "store/model/world.hpp"

#include <cstring>

#include "core/both.hpp"
#include "store/protocol/piece.hpp"

namespace holdfast::store::model {

namespace {

proof::ArenaPlan plan_of(const Shape& shape) {
  proof::ArenaPlan plan;
  plan.words = (1 + shape.pieces) * kPieceLines * kLineWords;  // the first piece is the directory
  return plan;
}

unsigned class_for(std::uint64_t words) { return class_of(8 * words); }

unsigned lines_of(unsigned size_class) { return class_bytes(size_class) / kLineBytes; }

}  // namespace

World::World(Flavour flavour, const Shape& shape)
    : proof::World(flavour == Flavour::process ? proof::Stores::all : proof::Stores::by_line, plan_of(shape)),
      flavour_(flavour),
      shape_(shape) {
  HOLDFAST_ASSERT(shape.keys <= kMostKeys && shape.pieces <= kMostPieces);
}

heap::View World::view() {
  return {reinterpret_cast<std::byte*>(durable_.words()), shape_.pieces + 1, kModelPieceBits};
}

void World::load(const proof::Words& image) {
  restart(image);
  set_volatile_part({});
}

void World::set_volatile_part(const Volatile& part) {
  volatile_ = part;
  waits_ = {-1, -1, -1, -1};
}

std::uint64_t World::hash() const {
  const auto number = [](int value) { return static_cast<std::uint64_t>(value) + 2; };
  std::uint64_t hash = mix(durable_.hash() + volatile_.newest);
  for (unsigned k = 0; k < kMostKeys; ++k) hash = mix(hash + number(volatile_.index[k]) + 256 * volatile_.claims[k]);
  for (const int size_class : volatile_.classes) hash = mix(hash + number(size_class));
  for (const bool free : volatile_.free) hash = mix(hash + free);
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

unsigned ModelParts::line_of(const std::uint64_t* cell) {
  return static_cast<unsigned>(cell - world_.line(0)) / kLineWords;
}

std::uint64_t ModelParts::cell_words(const std::uint64_t* cell) {
  const int size_class = world_.volatile_.classes[line_of(cell) / kPieceLines];
  return size_class < 0 ? 0 : class_bytes(static_cast<unsigned>(size_class)) / 8;
}

void ModelParts::claim(Key key) {
  const unsigned k = number_of(key);
  world_.waits_[world_.caller()] = static_cast<int>(k);
  do {
    world_.access();  // the first access of a caller is made at once, whoever has the claim
  } while (world_.volatile_.claims[k]);
  world_.waits_[world_.caller()] = -1;
  world_.volatile_.claims[k] = true;
  world_.note(1);
}

void ModelParts::release(Key key) {
  world_.access();
  world_.note(2);
  world_.volatile_.claims[number_of(key)] = false;
}

bool ModelParts::claimed(Key key) { return world_.peek(&world_.volatile_.claims[number_of(key)]); }

std::uint64_t* ModelParts::lookup(Key key) { return cell_of(world_.peek(&world_.volatile_.index[number_of(key)])); }

std::uint64_t* ModelParts::exchange(Key key, std::uint64_t* cell) {
  int& entry = world_.volatile_.index[number_of(key)];
  const int old = world_.peek(&entry);
  entry = cell == nullptr ? -1 : static_cast<int>(line_of(cell));
  return cell_of(old);
}

std::uint64_t* ModelParts::take_free(unsigned size_class) {
  for (unsigned line = 0; line < world_.shape().pieces * kPieceLines; ++line) {
    if (world_.volatile_.classes[line / kPieceLines] != static_cast<int>(size_class)) continue;
    if (!world_.volatile_.free[line]) continue;
    world_.volatile_.free[line] = false;
    world_.note(line + 1);
    return world_.line(line);
  }
  world_.note(0);
  return nullptr;
}

bool ModelParts::is_unused(unsigned piece) const {
  const int size_class = world_.volatile_.classes[piece];
  if (size_class < 0) return size_class == World::kNoClass;
  for (unsigned at = 0; at < kPieceLines; at += lines_of(static_cast<unsigned>(size_class))) {
    if (!world_.volatile_.free[piece * kPieceLines + at]) return false;
  }
  return true;
}

std::uint64_t* ModelParts::take(std::uint64_t words) {
  const unsigned size_class = class_for(words);
  world_.access();
  if (std::uint64_t* const cell = take_free(size_class); cell != nullptr) return cell;
  for (unsigned piece = 0; piece < world_.shape().pieces; ++piece) {
    if (!is_unused(piece)) continue;
    world_.volatile_.classes[piece] = World::kChanging;
    for (unsigned at = 0; at < kPieceLines; ++at) world_.volatile_.free[piece * kPieceLines + at] = false;
    world_.note(piece + 100);
    enter_piece(memory_, world_.view(), piece + 1, PieceWord::of(size_class, 0, piece), false);
    world_.access();
    world_.volatile_.classes[piece] = static_cast<int>(size_class);
    for (unsigned at = 0; at < kPieceLines; at += lines_of(size_class)) {
      world_.volatile_.free[piece * kPieceLines + at] = true;
    }
    return take_free(size_class);
  }
  return nullptr;
}

void ModelParts::give(std::uint64_t* cell) {
  world_.access();
  world_.note(3);
  HOLDFAST_ASSERT(!world_.volatile_.free[line_of(cell)]);
  world_.volatile_.free[line_of(cell)] = true;
}

std::uint64_t ModelParts::draw() {
  world_.access();
  world_.note(++world_.volatile_.newest);
  return world_.volatile_.newest;
}

std::uint64_t ModelParts::newest() { return world_.peek(&world_.volatile_.newest); }

}  // namespace holdfast::store::model
