// search_rooms.cpp: picks the room of an ordered search, and makes one where none is free.
#include "structures/gphash/cuda/search/search_rooms.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

namespace holdfast::machine::cuda {

namespace {

constexpr std::size_t kAlign = 256;
std::size_t aligned_up(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

SearchRooms::Room::Room(std::uint64_t rows, bool wide) : rows_(rows), wide_(wide) {
  const std::size_t cell = wide ? 8 : 4, stretches = (std::size_t{1} << kBinBits) + 1;
  room_.scratch_bytes = bins_scratch_bytes();
  std::size_t size = 0;
  const auto take = [&](auto*& array, std::size_t bytes) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(memory_.data() + size);
    size += aligned_up(bytes);
  };
  const auto take_all = [&] {
    size = 0;
    take(room_.epoch, sizeof(std::uint64_t));
    take(room_.ended, sizeof(std::uint32_t));
    take(room_.table, 2 * kSmallSearch * sizeof(std::uint64_t));
    take(room_.cells, rows * cell);
    take(room_.places, 2 * rows * cell);
    take(room_.ranks, rows * sizeof(std::uint32_t));
    take(room_.counts, stretches * sizeof(std::uint32_t));
    take(room_.starts, stretches * sizeof(std::uint32_t));
    take(room_.scratch, room_.scratch_bytes);
  };
  take_all();  // what it comes to
  memory_ = DeviceBuffer<std::byte>(size);
  take_all();
  const Stream alone;
  check(cudaMemsetAsync(room_.ended, 0, sizeof(std::uint32_t), alone), "making room for a search");
  alone.wait("making room for a search");
}

void SearchRooms::Room::end(cudaStream_t stream) {
  last_ = stream;
  ended_.record(stream);
}

void SearchRooms::Room::fork(cudaStream_t stream) const {
  forked_.record(stream);
  forked_.hold(beside_);
}
void SearchRooms::Room::join(cudaStream_t stream) const {
  joined_.record(beside_);
  joined_.hold(stream);
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
