// engine.cpp: what the protocol uses on the CPU, and opening a store.
#include "store/cpu/engine.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/hash.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store::cpu {

/// The store's part of a change or a search (change.hpp).
class Engine::Parts {
 public:
  explicit Parts(Engine& engine) : engine_(engine) {}

  const Memory& memory() const { return engine_.memory_; }
  void claim(const Key& key) { engine_.claims_.claim(key.hash); }
  void release(const Key& key) { engine_.claims_.release(key.hash); }
  bool claimed(const Key& key) { return engine_.claims_.claimed(key.hash); }

  struct Candidates {
    unsigned size = 0;
    Cell cells[cuckoo::kMostCandidates];
  };
  Candidates candidates(const Key& key) {
    Candidates found;
    for (bool stale = true; stale;) {  // ends: a location without a piece was replaced since the index was read
      cuckoo::Candidates list;
      engine_.index_.candidates({&key.hash, 1}, {&list, 1});
      stale = false;
      found.size = list.size;
      for (unsigned i = 0; i < list.size && !stale; ++i) {
        found.cells[i] = engine_.cells_.at({list.locations[i]});
        stale = found.cells[i].none();
      }
    }
    return found;
  }
  bool names(const Key& key, Location location) {
    cuckoo::Candidates list;
    engine_.index_.candidates({&key.hash, 1}, {&list, 1});
    for (unsigned i = 0; i < list.size; ++i) {
      if (list.locations[i] == location.word) return true;
    }
    return false;
  }
  bool exchange(const Key& key, Location old, Location next) {
    cuckoo::Outcome outcome{};
    engine_.index_.exchange({&key.hash, 1}, {&old.word, 1}, {&next.word, 1}, {&outcome, 1});
    HOLDFAST_ASSERT(outcome != cuckoo::Outcome::absent);
    return outcome != cuckoo::Outcome::no_cell;
  }
  void remove(const Key& key, Location location) {
    cuckoo::Outcome outcome{};
    engine_.index_.erase({&key.hash, 1}, {&location.word, 1}, {&outcome, 1});
    HOLDFAST_ASSERT(outcome == cuckoo::Outcome::erased);
  }
  Cell take(std::uint64_t words) { return engine_.cells_.take(engine_.memory_, words); }
  void give(const Cell& cell) { engine_.cells_.give(cell); }
  std::uint64_t draw() { return engine_.draw(); }
  std::uint64_t newest() const { return engine_.newest_.load(std::memory_order_acquire); }

 private:
  Engine& engine_;
};

Engine::Engine(const Mapped& mapped, const memory::Persist& persist, const cuckoo::cpu::CpuOptions& index)
    : mapped_(mapped), memory_(persist), index_(index), cells_(mapped.heap, mapped.zero) {
  recover();
}

Key Engine::key_of(const std::byte* key, std::size_t bytes) const {
  const auto word = [&](unsigned i) { return padded_word(key, bytes, i); };
  return {key, static_cast<std::uint16_t>(bytes), hash_bytes(bytes, mapped_.seed, word)};
}

Key Engine::key_of(std::span<const std::byte> key) const { return key_of(key.data(), key.size()); }

void Engine::recover() {
  for (std::uint64_t piece = 0; piece < mapped_.heap.count; ++piece) {
    if (mapped_.heap.is_directory(piece)) continue;
    if (!cells_.enter(piece, {memory_.load(mapped_.heap.entry(piece))})) {
      throw PoolCorrupt("piece " + std::to_string(piece) +
                        " of the store's heap has a damaged entry: restore the pool from a copy");
    }
  }
  static_assert(store::Parts<Parts>);
  Parts parts(*this);
  const auto key_at = [&](const std::uint64_t* cell, const Header& header) {
    return key_of(reinterpret_cast<const std::byte*>(cell + header.key_at()), header.key_bytes);
  };
  cells_.each_cell([&](const Cell& cell) { recover_cell(parts, cell, key_at, recovered_); });
  end_recovery(parts);
  cells_.end_recovery();
  if (recovered_.unnamed != 0) {
    throw NoSpace("there is no memory for an index of the store's items: free memory, and open it again");
  }
  const std::uint64_t reserved = memory_.load(mapped_.reserved);
  if (recovered_.newest > reserved) {
    throw PoolCorrupt("an item of the store has the number " + std::to_string(recovered_.newest) + ", and only " +
                      std::to_string(reserved) + " are reserved: restore the pool from a copy");
  }
  newest_ = reserved;
  reserved_ = reserved;
}

/// A number is used only when its reservation is durable: what waits for one waits here.
std::uint64_t Engine::draw() {
  const std::uint64_t number = newest_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (number > reserved_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(reserving_);
    const std::uint64_t reserved = reserved_.load(std::memory_order_relaxed);
    if (number > reserved) {
      reserve_numbers(memory_, mapped_.reserved, number + kReservedAtOnce);
      reserved_.store(number + kReservedAtOnce, std::memory_order_release);
    }
  }
  return number;
}

Change Engine::set(const Content& content) {
  Parts parts(*this);
  return store::set(parts, key_of(content.key, content.key_bytes), content);
}

Change Engine::erase(std::span<const std::byte> key) {
  Parts parts(*this);
  return store::erase(parts, key_of(key));
}

Change Engine::touch(std::span<const std::byte> key, std::uint64_t expiry) {
  Parts parts(*this);
  return store::touch(parts, key_of(key), expiry);
}

bool Engine::get(std::span<const std::byte> key, std::span<std::byte> space, Value& value) {
  Parts parts(*this);
  const auto copy = [&](const Header& header, State state, std::uint64_t sequence, const std::uint64_t* cell) {
    value = {header.flags, header.has_cas ? memory_.load(cell + kHeaderWords) : sequence, state.expiry(),
             header.value_bytes};
    if (header.value_bytes > space.size()) return;
    for (std::uint32_t at = 0; at < header.value_bytes; at += 8) {
      const std::uint64_t word = memory_.load(cell + header.value_at() + at / 8);
      std::memcpy(space.data() + at, &word, std::min<std::uint32_t>(8, header.value_bytes - at));
    }
  };
  return find(parts, key_of(key), copy);
}

}  // namespace holdfast::store::cpu
