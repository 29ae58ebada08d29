// blobs.hpp: byte strings of any length, one per row, as tables of variable-length pairs return them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// One row's bytes. Null data: the row has no value, which is different from an empty one.
struct Blob {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

/// Allocates bytes that are freed together. Allocated bytes do not move.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    Arena moved(std::move(other));
    swap(moved);
    return *this;
  }
  /// Uses memory of the caller first.
  Arena(std::byte* begin, std::size_t bytes) : at_(begin), left_(bytes) {}

  /// Never null.
  std::byte* take(std::size_t bytes) {
    if (bytes > left_ || at_ == nullptr) grow(bytes);
    std::byte* const taken = at_;
    at_ += bytes;
    left_ -= bytes;
    return taken;
  }
  /// Takes ownership of another arena's memory.
  void adopt(Arena&& other) {
    for (auto& chunk : other.chunks_) chunks_.push_back(std::move(chunk));
    if (other.newest_) chunks_.push_back(std::move(other.newest_));
    other = Arena();
  }
  /// Keeps memory that rows refer to alive as long as this.
  void keep(std::shared_ptr<void> memory) { chunks_.push_back(std::move(memory)); }
  /// Frees all bytes. The next ones come from memory that it has, if that is one chunk of the usual size.
  void reset() {
    const bool usual = newest_ != nullptr && newest_bytes_ == kChunk;
    Arena empty;
    if (usual) empty.use(std::move(newest_), kChunk);
    swap(empty);
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{256} << 10;
  void grow(std::size_t bytes) {
    const std::size_t size = bytes > kChunk ? bytes : kChunk;
    std::shared_ptr<std::byte[]> chunk(std::make_unique_for_overwrite<std::byte[]>(size));
    if (newest_) chunks_.push_back(newest_);
    use(std::move(chunk), size);
  }
  void use(std::shared_ptr<std::byte[]> chunk, std::size_t bytes) {
    newest_ = std::move(chunk);
    newest_bytes_ = left_ = bytes;
    at_ = newest_.get();
  }
  void swap(Arena& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(left_, other.left_);
    newest_.swap(other.newest_);
    std::swap(newest_bytes_, other.newest_bytes_);
    chunks_.swap(other.chunks_);
  }

  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  std::shared_ptr<std::byte[]> newest_;  ///< from which it takes
  std::size_t newest_bytes_ = 0;
  std::vector<std::shared_ptr<void>> chunks_;  ///< all others
};

/// The results of a batch's rows, and their memory.
class Blobs {
 public:
  Blobs() = default;
  Blobs(Blobs&& other) noexcept { *this = std::move(other); }
  Blobs& operator=(Blobs&& other) noexcept {
    rows_ = std::move(other.rows_);
    size_ = std::exchange(other.size_, 0);
    own_rows_ = std::exchange(other.own_rows_, 0);
    arena_ = std::move(other.arena_);
    return *this;
  }

  /// Replaces the contents by `rows` rows without bytes. Memory that it has is used again: a caller that searches for one key a call
  /// gives the same Blobs each time.
  void reset(std::size_t rows) {
    size_ = 0;
    arena_.reset();
    if (own_rows_ == 0 || rows > own_rows_ || own_rows_ > kKeptRows) {
      own_rows_ = 0;
      rows_.reset(new Blob[rows]());
      own_rows_ = rows;
    } else {
      std::fill_n(rows_.get(), rows, Blob{});
    }
    size_ = rows;
  }

  std::size_t size() const { return size_; }
  bool has(std::size_t row) const { return rows_[row].data != nullptr; }
  std::string_view operator[](std::size_t row) const {
    return {reinterpret_cast<const char*>(rows_[row].data), rows_[row].size};
  }
  std::uint64_t total_bytes() const {
    std::uint64_t bytes = 0;
    for (std::size_t row = 0; row < size_; ++row) bytes += rows_[row].size;
    return bytes;
  }
  /// Writes all rows one after another to `bytes`, and their (n + 1,) offsets to `offsets`.
  void pack(std::uint64_t* offsets, std::byte* bytes) const;

  // How machines fill it in.
  Blob* rows() { return rows_.get(); }
  void shrink(std::size_t rows) { size_ = rows; }
  Arena& arena() { return arena_; }
  /// Replaces the contents by `rows` rows in memory of the backend, which it writes.
  void reset(std::size_t rows, std::shared_ptr<Blob[]> memory) {
    *this = Blobs();
    rows_ = std::move(memory);
    size_ = rows;
  }

 private:
  static constexpr std::size_t kKeptRows = 1024;
  std::shared_ptr<Blob[]> rows_;
  std::size_t size_ = 0, own_rows_ = 0;  ///< own: 0 where the rows are memory of a backend
  Arena arena_;
};

/// The results of a batch's rows in memory of the table's GPU, which lives as long as this.
class DeviceBlobs {
 public:
  std::size_t size() const { return size_; }
  /// (n + 1,) where the bytes of each row begin and those of the last end; in GPU memory, as are the following.
  const std::uint64_t* offsets() const { return offsets_; }
  /// (n,) true for rows that have bytes, which may be none.
  const bool* present() const { return present_; }
  const std::byte* bytes() const { return bytes_; }
  std::uint64_t total_bytes() const { return total_bytes_; }
  int device() const { return device_; }  ///< the GPU's number

  // How machines fill it in.
  /// `memory` contains all of it.
  void reset(std::shared_ptr<void> memory, std::size_t rows, const std::uint64_t* offsets, const bool* present,
             const std::byte* bytes, std::uint64_t total_bytes, int device) {
    memory_ = std::move(memory);
    size_ = rows;
    offsets_ = offsets;
    present_ = present;
    bytes_ = bytes;
    total_bytes_ = total_bytes;
    device_ = device;
  }

 private:
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;
  const std::uint64_t* offsets_ = nullptr;
  const bool* present_ = nullptr;
  const std::byte* bytes_ = nullptr;
  std::uint64_t total_bytes_ = 0;
  int device_ = 0;
};

}  // namespace holdfast
