// volatile_state.cpp: reads and sets a table's words in GPU memory.
#include "structures/gphash/cuda/table/volatile_state.hpp"

#include <algorithm>
#include <utility>

#include "heap/cuda/ring.hpp"
#include "structures/gphash/cuda/cells/cells.hpp"

namespace holdfast::gphash::cuda {

void VolatileState::begin(PositionState* values, PositionState* buckets, cudaStream_t stream) {
  DeviceState fresh{};
  fresh.readers.epoch = 3;
  fresh.positions[0] = values;
  fresh.positions[1] = buckets;
  fresh.generation = generation_;
  cuda::check(cudaMemcpyAsync(words(), &fresh, sizeof fresh, cudaMemcpyHostToDevice, stream), "starting recovery");
}

void VolatileState::set_items(std::uint64_t items, cudaStream_t stream) {
  cuda::check(cudaMemcpyAsync(&words()->items, &items, 8, cudaMemcpyHostToDevice, stream), "counting items");
}

DeviceState VolatileState::read() const {
  const std::lock_guard lock(reading_);
  DeviceState now;
  order_.follow(reader_);
  cuda::check(cudaMemcpyAsync(&now, words(), sizeof now, cudaMemcpyDeviceToHost, reader_), "reading counts");
  reader_.wait("running a batch");
  return now;
}

PositionState VolatileState::read(const CacheMaps& maps) const {
  const std::lock_guard lock(reading_);
  PositionState state;
  cuda::check(cudaMemcpyAsync(&state, maps.state(), sizeof state, cudaMemcpyDeviceToHost, reader_), "reading counts");
  reader_.wait("reading counts");
  state.head = std::min(state.head, state.tail);
  return state;
}

void VolatileState::begin_ring(std::uint64_t cells, std::uint64_t reserve) {
  ring_ = {ring_cells_.at_least(cells), cells, reserve};
  retired_ = 0;
}

void VolatileState::begin_retired(std::uint64_t capacity, const Stream& stream) {
  begin_ring(std::max<std::uint64_t>(capacity, ring_cells_.size()), 0);
  begin_empty_ring(words(), stream);
  stream.wait("freeing cells");
}

void VolatileState::grow_ring(std::uint64_t cells, std::uint64_t reserve, const Stream& stream) {
  DeviceBuffer<std::uint64_t> larger(cells);
  extend_ring(ring_, {larger.data(), cells, reserve}, words(), stream);
  stream.wait("adding free cells");
  ring_cells_ = std::move(larger);
  begin_ring(cells, reserve);
}

void VolatileState::settle(const Stream& stream) {
  settle_cells(words(), stream);
  stream.wait("settling free cells");
}

void VolatileState::expect(std::uint64_t keys, std::uint64_t cells) {
  bounds_.items += keys;
  bounds_.free_cells -= cells;
}

void VolatileState::note_bounds() {
  const DeviceState now = read();
  bounds_ = {static_cast<std::uint64_t>(now.items), now.tail - std::min(now.head, now.tail)};
}

bool VolatileState::may_retire(std::uint64_t rows) {
  if (retired_ + rows > ring_.capacity) return false;
  retired_ += rows;
  return true;
}

void VolatileState::count_retired() {
  order_.finish();
  const DeviceState now = read();
  retired_ = now.retired_end - std::min(now.head, now.tail);
}

void VolatileState::end_generation(const Stream& stream) {
  ++generation_;
  const char* const doing = "ending searches in graphs";
  cuda::check(cudaMemcpyAsync(&words()->generation, &generation_, 8, cudaMemcpyHostToDevice, stream), doing);
  stream.wait(doing);
}

}  // namespace holdfast::gphash::cuda
