// mapped_heap.hpp: the heap of an object of a pool: one range of addresses, made of as many extents of the file as it takes. Rule 19.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heap/slab.hpp"
#include "pool/object.hpp"

namespace holdfast::heap {

/// How large a heap may become.
struct Limits {
  std::uint64_t max_bytes = 0;                            ///< declared: so much address space is reserved; 0: none
  std::uint64_t most_bytes = std::uint64_t{1} << 46;      ///< where no maximum is declared
  std::uint64_t least_reserve = std::uint64_t{16} << 30;  ///< address space, at least, where no maximum is declared
  bool may_move =
      true;            ///< false: it grows only as far as the address space goes that it got when it was made or mapped
  std::string advice;  ///< ends the error of a heap that cannot grow: what the user can do
};

/// The extents that an object has of one role, which must have `pool::kPiecesOfARange`, mapped one behind the other.
///
///   made:    `make` within the Edit that makes its object
///   opened:  `map`
///   used:    `view` for each batch: `grow` may move the heap
///
/// Not thread-safe: while `grow` or `shrink` runs, no other thread uses the heap, except where the reserved address space suffices; then
/// others may use what is mapped.
class MappedHeap {
 public:
  /// `owner` outlives it.
  MappedHeap(const pool::Object& owner, std::uint16_t role, Limits limits)
      : owner_(owner), role_(role), limits_(std::move(limits)) {}
  ~MappedHeap();  ///< unmaps
  MappedHeap(const MappedHeap&) = delete;
  MappedHeap& operator=(const MappedHeap&) = delete;

  /// Gives a new object a heap of `bytes` bytes, a multiple of the granule. Throws NoSpace, MediumError.
  void make(pool::Edit& edit, std::uint64_t bytes);
  /// Maps the extents that the directory names. Throws SystemError, MediumError.
  void map();

  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return mapped_; }
  std::uint64_t reserved() const { return reserved_; }  ///< address space
  /// The whole slabs that are mapped now.
  View view() const { return {base_, mapped_ / kSlabBytes, kSlabBits}; }
  /// Where a piece of it is mapped; null if it is none.
  const std::byte* address_of(const pool::Extent& extent) const;

  /// The size after a growth to `bytes` that finds all the space it asks for.
  std::uint64_t most_with(std::uint64_t bytes) const;
  /// Adds space until the heap has `wanted` bytes, or what the medium has, but at least `least`, durably. New bytes have any content.
  /// Moves the heap if the reserved address space is too small. Throws NoSpace, MediumError, SystemError; then nothing changed.
  void grow(std::uint64_t least, std::uint64_t wanted);
  /// Returns what is behind the first `bytes`, a multiple of the granule, to the medium, durably. Throws InvalidArgument, SystemError.
  void shrink(std::uint64_t bytes);

  /// Calls `mapped` with each range that is mapped now, and with each that is mapped later; `unmapping` with each before it is unmapped, in
  /// the destructor too. Empty functions end it.
  using OnRange = std::function<void(void* address, std::size_t bytes)>;
  void on_range(OnRange mapped, OnRange unmapping);

 private:
  /// Address space: given back at the end, whatever is mapped in it.
  struct Space {
    std::byte* address = nullptr;
    std::uint64_t bytes = 0;
    Space() = default;
    Space(Space&& other) noexcept : address(other.address), bytes(other.bytes) { other.address = nullptr; }
    ~Space() { system::unmap(address, bytes); }
  };

  pool::PoolFile& pool() const { return owner_.pool(); }
  std::uint64_t reserve_for(std::uint64_t bytes) const;
  void reserve(std::uint64_t bytes);
  Space larger_space(std::uint64_t bytes) const;
  void map_pieces(const std::vector<pool::Extent>& pieces);
  void settle_from(std::uint64_t byte) const;
  void unmap_from(std::size_t range) noexcept;
  void extend(pool::Edit& edit, const std::vector<pool::Extent>& pieces);
  void move(pool::Edit& edit, Space& space);
  void announce(const pool::Range& range) const;
  void withdraw(const pool::Range& range) const;

  const pool::Object& owner_;
  const std::uint16_t role_;
  const Limits limits_;
  std::byte* base_ = nullptr;  ///< the start of the reserved address space
  std::uint64_t reserved_ = 0;
  std::uint64_t mapped_ = 0;
  std::vector<pool::Range> ranges_;  ///< as they were mapped
  OnRange on_mapped_, on_unmapping_;
};

}  // namespace holdfast::heap
