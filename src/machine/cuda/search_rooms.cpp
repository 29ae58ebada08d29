// search_rooms.cpp: picks the room of an ordered search, and makes one where none is free.
#include "machine/cuda/search_rooms.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "machine/cuda/kernels.hpp"

namespace holdfast::machine::cuda {

namespace {

constexpr std::size_t kAlign = 256;
std::size_t aligned_up(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

SearchRooms::Room::Room(std::uint64_t rows, bool wide) : rows_(rows), wide_(wide) {
  const std::size_t cells = aligned_up(rows * (wide ? 8 : 4)), numbers = aligned_up(rows * 4);
  const std::size_t scratch = search_scratch_bytes(rows, wide);
  const std::size_t table = 2 * kSmallSearch * sizeof(std::uint64_t);
  memory_ = DeviceBuffer<std::byte>(kAlign + table + 2 * cells + 2 * numbers + scratch);
  std::byte* at = memory_.data();
  const auto take = [&](std::size_t bytes) { return std::exchange(at, at + bytes); };
  room_.epoch = reinterpret_cast<std::uint64_t*>(take(kAlign));
  room_.table = reinterpret_cast<std::uint64_t*>(take(table));
  for (void*& array : room_.cells) array = take(cells);
  for (std::uint32_t*& array : room_.rows) array = reinterpret_cast<std::uint32_t*>(take(numbers));
  room_.scratch = at;
  room_.scratch_bytes = scratch;
}

void SearchRooms::Room::end(cudaStream_t stream) {
  last_ = stream;
  ended_.record(stream);
}

SearchRooms::Room& SearchRooms::lend(std::uint64_t rows, bool wide, cudaStream_t stream) {
  const auto fits = [&](const Room& room) { return room.rows_ >= rows && room.wide_ == wide; };
  for (const auto& room : rooms_) {
    if (!fits(*room) || (room->last_ != stream && !room->ended_.passed())) continue;
    room->ended_.hold(stream);  // a new stream can have the handle of one that is gone
    return *room;
  }
  if (rooms_.size() < kMost) {
    rooms_.push_back(std::make_unique<Room>(std::bit_ceil(std::max(rows, kSmallSearch)), wide));
    return *rooms_.back();
  }
  std::unique_ptr<Room>& room = rooms_[next_++ % kMost];
  if (fits(*room)) {
    room->ended_.hold(stream);
  } else {
    room->ended_.wait("waiting for a search");
    room = std::make_unique<Room>(std::bit_ceil(std::max(rows, kSmallSearch)), wide);
  }
  return *room;
}

}  // namespace holdfast::machine::cuda
