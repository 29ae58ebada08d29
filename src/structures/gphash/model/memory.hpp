// memory.hpp: the model's memory policy, and its tile: what the CPU's driver is compiled with here.
//
// The driver of src/structures/gphash/cpu is a template over its tile, and its memory policy over the same type. So the model gives it
// another tile and specializes the policy: what runs is the shipped driver over the shipped index, access by access.
#pragma once

#include <functional>

#include "structures/gphash/cpu/memory.hpp"
#include "structures/gphash/cpu/simd/tile.hpp"
#include "structures/gphash/model/world.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash::model {

template <Flavour F>
struct ModelTile : cpu::PortableTile {
  static constexpr const char* kName = "model";
};

}  // namespace holdfast::gphash::model

namespace holdfast::gphash::cpu {

template <model::Flavour F, bool kFlush>
class CpuMemory<model::ModelTile<F>, kFlush> : public HostWords<CpuMemory<model::ModelTile<F>, kFlush>> {
 public:
  /// Who reads copies sees what is durable.
  static constexpr bool kReadersFlush = F != model::Flavour::process && F != model::Flavour::resident;

  static constexpr bool kColumns = true;
  static constexpr bool kNotesReads = false;
  static constexpr bool kLooksAhead = false;                       // it would multiply schedules, and decides nothing
  static constexpr std::size_t kLineBytes = sizeof(gphash::Slot);  // plan_of

  CpuMemory(const pool::Persist&, heap::ThreadCells&, Tally& tally) : tally_(tally) {}

  static bool keeps(gphash::Step step) { return step != model::left_out; }
  static bool keeps(heap::Step step) {
    return keeps(step == heap::Step::flush_directory ? gphash::Step::flush_directory : gphash::Step::fence_directory);
  }

  std::uint64_t load(const std::uint64_t* word) const {
    if (const std::uint64_t* const copy = world().copy_of(word)) return world().peek(copy);
    return world().load(word);
  }
  void store(std::uint64_t* word, std::uint64_t value) const { world().store(word, value); }
  std::uint64_t load_value(const std::uint64_t* word) const { return load(word); }
  /// Of a cell, or of a phase, which fences at its end.
  void store_value(std::uint64_t* word, std::uint64_t value) const { store(word, value); }
  void store_pair(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    store(&slot->key, key);
    store(&slot->word, word);
  }
  void order(const gphash::Slot*) const {
    if (model::is_gpu(F)) world().fence();
  }
  void flush(const void* address, std::size_t bytes) const { world().flush(address, bytes); }
  void fence() const { world().fence(); }
  static constexpr bool settles_in_groups() { return F == model::Flavour::power; }
  gphash::Slot load_slot(const gphash::Slot* slot) const { return {load(&slot->key), load(&slot->word)}; }
  void show_at(std::uint64_t* word, std::uint64_t value) const {
    if (std::uint64_t* const copy = world().copy_of(word)) world().poke(copy, value);
  }
  template <class Word>
  void show_words(std::uint64_t* to, unsigned count, const Word& word) const {
    if (F != model::Flavour::resident) return;
    for (unsigned i = 0; i < count; ++i) show_at(to + i, word(i));
  }
  void show(gphash::Slot* slot, std::uint64_t key, std::uint64_t word) const {
    show_at(&slot->word, word);
    show_at(&slot->key, key);
  }
  void show_word(gphash::Slot* slot, std::uint64_t word) const { show_at(&slot->word, word); }
  void hide(gphash::Slot* slot) const { show_at(&slot->key, 0); }

  std::uint64_t peek(const std::uint64_t* word) const { return world().peek(word); }
  void poke(std::uint64_t* word, std::uint64_t value) const { world().poke(word, value); }
  bool swap(std::uint64_t* word, std::uint64_t seen, std::uint64_t value) const {
    return world().swap(word, seen, value);
  }
  void put_byte(std::uint64_t* word, unsigned byte, std::uint8_t from, std::uint8_t to) const {
    world().add(word, gphash::byte_change(byte, from, to));
  }
  void add(std::uint64_t* word, std::uint64_t amount) const { world().add(word, amount); }

  void write_bytes(std::byte* cell, const std::byte* from, std::size_t bytes) const {
    world().write_bytes(cell, from, bytes);
  }
  void read_bytes(std::byte* to, const std::byte* cell, std::size_t bytes) const {
    world().read_bytes(to, cell, bytes);
  }

  std::uint64_t take_cell(bool adds_key) const { return world().take_cell(adds_key); }
  void return_cell(std::uint64_t cell) const { world().return_cell(cell); }
  void retire_cell(std::uint64_t cell) const { world().retire_cell(cell); }
  bool same_bytes(const std::byte* stored, const std::byte* given, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += 8) {
      if (load(reinterpret_cast<const std::uint64_t*>(stored + at)) != this->given_word(given + at)) return false;
    }
    return true;
  }
  template <class Shape>
  std::uint64_t take_pair(const gphash::View<Shape>& view, std::uint32_t bytes, bool adds_key) const {
    const unsigned size_class = heap::class_of(bytes);
    const auto enter = [&](std::uint64_t slab) { heap::enter_slab(*this, view.heap_view(), slab, size_class); };
    const std::uint64_t begin = world().take_pair_cell(size_class, adds_key, std::cref(enter));
    return begin == model::kNone ? 0 : heap::CellWord::of(begin, size_class, bytes).word;
  }
  void return_pair(std::uint64_t word) const { world().return_cell(model::World::filled(word)); }
  void retire_pair(std::uint64_t word) const { world().retire_cell(model::World::filled(word)); }
  static std::byte* take_bytes(Arena& arena, std::size_t bytes) { return arena.take(bytes); }
  void count_items(int change) const { world().count_items(change); }
  void note_move(const gphash::Slot*, const gphash::Slot*) const {}
  void count_retry() const { ++tally_.retries; }
  /// Of a run that may be one more, since the driver counts those that missed a claim. No access.
  void begin_attempt() const { model::current_world->begin_attempt(tally_.claim_misses); }
  void note_held_move(const std::uint64_t* version_lock) const { model::current_world->note_held_move(version_lock); }

 private:
  model::World& world() const {
    model::current_world->note_misses(tally_.claim_misses);
    return *model::current_world;
  }

  Tally& tally_;
};

}  // namespace holdfast::gphash::cpu

namespace holdfast::gphash::model {

using ModelMemory = cpu::CpuMemory<ModelTile<Flavour::power>, true>;
static_assert(gphash::OperationTile<ModelTile<Flavour::power>, ModelMemory, gphash::RuntimeShape>);
static_assert(gphash::OperationTile<ModelTile<Flavour::power>, ModelMemory, gphash::RuntimeVariableShape>);
static_assert(gphash::PhasedMemory<ModelMemory> && gphash::SeesAttempts<ModelMemory> && heap::SlabMemory<ModelMemory>);

}  // namespace holdfast::gphash::model
