// engine.hpp: a store's operations on CPU threads: the protocol over a mapped heap, with the index in host memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "store/cpu/cell_space.hpp"
#include "store/cpu/claims.hpp"
#include "store/protocol/recover.hpp"
#include "store/protocol/sequence.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"

namespace holdfast::store::cpu {

/// The durable memory of a store.
struct Mapped {
  heap::View heap;
  std::uint64_t* reserved = nullptr;  ///< the word of `reserve_numbers`
  std::uint64_t seed = 0;             ///< of the hash, drawn when the store was made
  bool zero = false;                  ///< nothing has been written to the heap
};

/// What a `get` answers.
struct Value {
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;  ///< the client's, or the sequence number
  std::uint64_t expiry = 0;
  std::uint32_t bytes = 0;  ///< of the value; more than there is space for: nothing was copied
};

/// Thread-safe. Every change is durable when its call returns; a search sees the state before or after it.
class Engine {
 public:
  /// Opens a store: rebuilds the index from its items. Throws NoSpace (memory for the index), PoolCorrupt (a piece's entry is damaged).
  Engine(const Mapped& mapped, const memory::Persist& persist, const cuckoo::cpu::CpuOptions& index);

  const Recovered& recovered() const { return recovered_; }
  std::uint64_t size() const { return index_.size(); }
  std::uint64_t free_pieces() const { return cells_.free_pieces(); }

  Change set(const Content& content);
  Change erase(std::span<const std::byte> key);
  Change touch(std::span<const std::byte> key, std::uint64_t expiry);
  /// Copies the key's value. False: the key has no item.
  bool get(std::span<const std::byte> key, std::span<std::byte> space, Value& value);

 private:
  class Parts;
  Key key_of(std::span<const std::byte> key) const;
  Key key_of(const std::byte* key, std::size_t bytes) const;
  std::uint64_t draw();
  void recover();

  const Mapped mapped_;
  const Memory memory_;
  cuckoo::cpu::CpuIndex index_;
  CellSpace cells_;
  Claims claims_;
  Recovered recovered_;
  std::atomic<std::uint64_t> newest_, reserved_;
  std::mutex reserving_;
};

}  // namespace holdfast::store::cpu
