// blobs.hpp: byte strings of any length, one a row, as tables of variable-length pairs return them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// One row's bytes. Null data: the row has none, which is not the same as no bytes.
struct Blob {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

/// Memory for bytes that are freed together. What it gave does not move.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;
  /// Begins with memory of the caller's.
  Arena(std::byte* begin, std::size_t bytes) : at_(begin), left_(bytes) {}

  /// Never null.
  std::byte* take(std::size_t bytes) {
    if (bytes > left_ || at_ == nullptr) grow(bytes);
    std::byte* const taken = at_;
    at_ += bytes;
    left_ -= bytes;
    return taken;
  }
  /// Takes over what another has given.
  void adopt(Arena&& other) {
    for (auto& chunk : other.chunks_) chunks_.push_back(std::move(chunk));
    other = Arena();
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{256} << 10;
  void grow(std::size_t bytes) {
    left_ = bytes > kChunk ? bytes : kChunk;
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    at_ = chunks_.back().get();
  }

  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
};

/// The results of a batch's rows, and the memory that they lie in.
class Blobs {
 public:
  Blobs() = default;
  Blobs(Blobs&&) = default;
  Blobs& operator=(Blobs&&) = default;

  /// `rows` rows without bytes; what was there before is gone.
  void reset(std::size_t rows) {
    rows_.assign(rows, Blob{});
    arena_ = Arena();
  }

  std::size_t size() const { return rows_.size(); }
  bool has(std::size_t row) const { return rows_[row].data != nullptr; }
  std::string_view operator[](std::size_t row) const {
    return {reinterpret_cast<const char*>(rows_[row].data), rows_[row].size};
  }
  std::uint64_t total_bytes() const {
    std::uint64_t bytes = 0;
    for (const Blob& row : rows_) bytes += row.size;
    return bytes;
  }
  /// Writes all rows one after another to `bytes`, and where each begins, and the last ends, to `offsets`: (n + 1,).
  void pack(std::uint64_t* offsets, std::byte* bytes) const;

  // How machines fill it in.
  Blob* rows() { return rows_.data(); }
  void shrink(std::size_t rows) { rows_.resize(rows); }
  Arena& arena() { return arena_; }

 private:
  std::vector<Blob> rows_;
  Arena arena_;
};

}  // namespace holdfast
