// world.cpp: the words and the volatile parts of a modelled store, and every access to them.
#include "store/model/world.hpp"

#include <algorithm>
#include <cstring>

#include "core/both.hpp"
#include "store/protocol/piece.hpp"

namespace holdfast::store::model {

namespace {

proof::ArenaPlan plan_of(const Shape& shape) {
  proof::ArenaPlan plan;
  // The directory, the pieces, and the record.
  plan.words = (1 + shape.pieces) * kPieceLines * kLineWords + kLineWords;
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
  std::uint64_t hash =
      mix(durable_.hash() + volatile_.newest + 1024 * volatile_.reserved + (volatile_.claims[kMostKeys] ? 1 << 20 : 0));
  for (unsigned k = 0; k < kMostKeys; ++k) hash = mix(hash + number(volatile_.index[k]) + 256 * volatile_.claims[k]);
  hash = mix(hash + volatile_.now + 64 * volatile_.flushed + 4096 * volatile_.planned + (volatile_.clock << 20) +
             volatile_.flushing);
  for (const int size_class : volatile_.classes) hash = mix(hash + number(size_class));
  for (const bool free : volatile_.free) hash = mix(hash + free);
  for (const bool damaged : volatile_.damaged) hash = mix(hash + damaged);
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

Cell ModelParts::cell_at(unsigned line) {
  const int size_class = world_.volatile_.classes[line / kPieceLines];
  return {world_.line(line), size_class < 0 ? 0 : class_bytes(static_cast<unsigned>(size_class)) / 8, {line}};
}

/// Also where a reader has a location from a cell that was reused: then it lies anywhere, or nowhere.
Cell ModelParts::at(Location location) {
  if (location.word >= world_.shape().pieces * kPieceLines) return {};
  const Cell cell = cell_at(location.word);
  return cell.size == 0 || location.word % (8 * cell.size / kLineBytes) != 0 ? Cell{} : cell;
}

void ModelParts::claim(Key key) { claim_number(number_of(key)); }

void ModelParts::claim_number(unsigned k) {
  world_.waits_[world_.caller()] = static_cast<int>(k);
  do {
    world_.access();  // the first access of a caller is made at once, even if another has the claim
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

/// Entry by entry, as a real index is read.
ModelParts::Candidates ModelParts::candidates(Key key) {
  Candidates candidates;
  const unsigned own = number_of(key);
  for (unsigned k = 0; k < world_.shape().keys; ++k) {
    if (k != own && !world_.shape().one_signature) continue;
    const int line = world_.peek(&world_.volatile_.index[k]);
    if (line >= 0) candidates.cells[candidates.size++] = cell_at(static_cast<unsigned>(line));
  }
  return candidates;
}

bool ModelParts::names(Key key, Location location) {
  const Candidates now = candidates(key);
  for (unsigned i = 0; i < now.size; ++i) {
    if (now.cells[i].location == location) return true;
  }
  return false;
}

bool ModelParts::exchange(Key key, Location old, Location next) {
  int& entry = world_.volatile_.index[number_of(key)];
  world_.access();
  HOLDFAST_ASSERT(left_out != Step::count || (old.none() ? entry < 0 : entry == static_cast<int>(old.word)));
  unsigned entries = 0;
  for (const int line : world_.volatile_.index) entries += line >= 0 ? 1 : 0;
  const bool fits = entry >= 0 || entries < world_.shape().entries;
  world_.note(fits ? 4 : 5);
  if (fits) entry = static_cast<int>(next.word);
  return fits;
}

void ModelParts::remove(Key key, Location location) {
  int& entry = world_.volatile_.index[number_of(key)];
  world_.access();
  world_.note(6);
  HOLDFAST_ASSERT(left_out != Step::count || entry == static_cast<int>(location.word));
  entry = -1;
}

void ModelParts::look_up(Key key) {
  const Candidates named = candidates(key);
  looked_up_.at(number_of(key)) = named.size == 0 ? Location{} : named.cells[0].location;
}

Guess ModelParts::guess(Key key) {
  if (!guesses_) return {};
  const Location found = looked_up_.at(number_of(key));
  return found.none() ? Guess{{}, candidates(key).size == 0} : Guess{at(found), false};
}

Cell ModelParts::take_free(unsigned size_class) {
  for (unsigned line = 0; line < world_.shape().pieces * kPieceLines; ++line) {
    if (world_.volatile_.classes[line / kPieceLines] != static_cast<int>(size_class)) continue;
    if (!world_.volatile_.free[line]) continue;
    world_.volatile_.free[line] = false;
    world_.note(line + 1);
    return cell_at(line);
  }
  world_.note(0);
  return {};
}

bool ModelParts::is_unused(unsigned piece) const {
  const int size_class = world_.volatile_.classes[piece];
  if (size_class < 0) return size_class == World::kNoClass;
  for (unsigned at = 0; at < kPieceLines; at += lines_of(static_cast<unsigned>(size_class))) {
    if (!world_.volatile_.free[piece * kPieceLines + at]) return false;
  }
  return true;
}

Cell ModelParts::take(std::uint64_t words) {
  const unsigned size_class = class_for(words);
  world_.access();
  if (const Cell cell = take_free(size_class); !cell.none()) return cell;
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
  return {};
}

void ModelParts::give(const Cell& cell) {
  world_.access();
  world_.note(3);
  HOLDFAST_ASSERT(left_out != Step::count || !world_.volatile_.free[cell.location.word]);
  world_.volatile_.free[cell.location.word] = true;
}

/// Where nothing was damaged at the opening, it is no access: nothing becomes damaged later.
Cell ModelParts::take_damaged(Key key) {
  auto& damaged = world_.volatile_.damaged;
  if (std::ranges::none_of(damaged, [](bool is) { return is; })) return {};
  world_.access();
  for (unsigned line = 0; line < kMostLines; ++line) {
    if (!damaged.at(line) || world_.line(line)[kHeaderWords] != number_of(key)) continue;
    damaged.at(line) = false;
    world_.note(line + 1);
    return cell_at(line);
  }
  return {};
}

std::uint64_t ModelParts::draw() {
  World::Volatile& shared = world_.volatile_;
  world_.access();
  const std::uint64_t number = ++shared.newest;
  world_.note(number);
  if (world_.shape().numbers == 0 || number <= shared.reserved) return number;
  claim_number(kMostKeys);
  if (number > shared.reserved) {
    reserve_numbers(memory_, world_.record(), number + world_.shape().numbers - 1);
    shared.reserved = number + world_.shape().numbers - 1;
  }
  release_record();
  return number;
}

void ModelParts::release_record() {
  world_.access();
  world_.volatile_.claims[kMostKeys] = false;
}

Moment ModelParts::moment() {
  const std::uint64_t planned = world_.volatile_.planned;
  if (planned != 0) reaches(planned);
  return {world_.peek(&world_.volatile_.newest), world_.volatile_.now, world_.volatile_.flushed};
}

namespace {

/// The volatile part as `advance_time` wants it.
struct Shared {
  World& world;
  World::Volatile& part;
  std::uint64_t newest() const { return world.peek(&part.newest); }
  std::uint64_t now() const { return part.now; }
  std::uint64_t planned() const { return part.planned; }
  void set_planned(std::uint64_t time) { part.planned = time; }
  void set_flushed(std::uint64_t number) { part.flushed = number; }
  void set_flushing(bool flushing) {
    world.access();
    part.flushing = flushing;
  }
  void set_now(std::uint64_t now) { part.now = now; }
};

}  // namespace

bool ModelParts::reaches(std::uint64_t time) {
  World::Volatile& part = world_.volatile_;
  if (part.now >= time || part.clock < time) return part.now >= time;
  claim_number(kMostKeys);
  Shared shared{world_, part};
  if (part.now < part.clock) advance_time(memory_, world_.record(), shared, part.clock);
  release_record();
  return true;
}

bool ModelParts::flushed_since(std::uint64_t flushed) {
  if (world_.peek(&world_.volatile_.flushing)) {
    claim_number(kMostKeys);
    release_record();
  }
  return world_.volatile_.flushed != flushed;
}

void ModelParts::pass_time(std::uint64_t time) {
  world_.access();
  world_.volatile_.clock = time;
  reaches(time);
}

void ModelParts::flush_all() {
  claim_number(kMostKeys);
  Shared shared{world_, world_.volatile_};
  store::flush_all(memory_, world_.record(), shared);
  release_record();
}

void ModelParts::flush_all_at(std::uint64_t time) {
  claim_number(kMostKeys);
  Shared shared{world_, world_.volatile_};
  store::flush_all_at(memory_, world_.record(), shared, time);
  release_record();
}

void ModelParts::read_record(std::uint64_t numbers) {
  World::Volatile& part = world_.volatile_;
  const std::uint64_t* const record = world_.record();
  part.newest = part.reserved = world_.shape().numbers != 0 ? memory_.load(record + kReservedWord) : numbers;
  part.now = part.clock = memory_.load(record + kTimeWord);  // the machine's clock may have been set back since
  part.flushed = memory_.load(record + kFlushedWord);
  part.planned = memory_.load(record + kFlushAtWord);
}

}  // namespace holdfast::store::model
