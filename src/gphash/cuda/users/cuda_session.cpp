// cuda_session.cpp: sessions of users' kernels: room for their changes, their turn among batches, and their end. RULES.md 23.
#include "gphash/cuda/cuda_machine.hpp"
#include "gphash/cuda/kit.hpp"
#include "gpu/capture.hpp"

namespace holdfast::machine::cuda {

namespace {

void require_session_stream(cudaStream_t stream, int device) {
  if (is_capturing(stream)) {
    throw InvalidArgument(
        "stream is being captured into a CUDA graph, and a graph cannot hold the beginning or the end of a session, "
        "whose "
        "room the host makes: begin and commit it outside, and launch the graph in between");
  }
  require_stream(stream, device);
}

}  // namespace

/// Takes the turn of a changing batch, which the session's end gives back.
SessionHandle CudaMachine::begin_session(std::uint64_t max_changes, std::uint64_t score, void* to) {
  const OnDevice on(options_.device);
  auto* const stream = static_cast<cudaStream_t>(to);
  require_session_stream(stream, options_.device);
  std::unique_lock turn(changing_);
  require_working();
  free_what_graphs_kept();
  if (max_changes != 0 && exports_.want_moves()) {  // inserts move items, and kernels do not say which
    last_change_.wait("waiting for the batch before");
    exports_.list_rest(layout_);
  }
  const Need need{max_changes, layout_.in_slot() ? 0 : max_changes};
  if (!fits(need)) make_session_room(need);
  if (descriptor_.size() == 0) descriptor_ = DeviceBuffer<Descriptor>(1);
  Descriptor session;
  session.session = ++sessions_;
  session.left = static_cast<std::int64_t>(max_changes);
  session.state = state_.data();
  session.ring = ring_;
  session.cache = caches();
  session.score = score;
  session.any = layout_;
  session.narrow = view_as<index::DefaultShape>(layout_);
  session.wide = view_as<index::DefaultWideShape>(layout_);
  last_change_.hold(stream);
  settle_cells(state_.data(), stream);
  open_session(descriptor_.data(), session, stream);
  last_change_.record(stream);
  bounds_.items += need.keys;
  bounds_.free_cells -= need.cells;
  static_cast<void>(turn.release());
  return {descriptor_.data(), sessions_};
}

/// Grows the table until so many changes surely find slots and cells. Where inserts may fail at any load, as far as they mostly do not.
void CudaMachine::make_session_room(Need need) {
  const auto no_room = [&](const char* what) {
    note_bounds();
    return NoSpace("no room in " + pool_.path() + " for a session of " + std::to_string(need.keys) + " changes: its " +
                   what + " cannot grow so far. Make room on its medium, or give a smaller max_changes");
  };
  last_change_.wait("waiting for the batch before");
  if (need.cells != 0) {
    finish_searches();  // cells in limbo are free when nobody reads them
    settle();
    settle();
    note_bounds();
    while (bounds_.free_cells < need.cells + reserve_of(need)) {
      if (!grow_heap(need.cells + reserve_of(need) - bounds_.free_cells)) throw no_room("value heap");
      note_bounds();
    }
  }
  const auto most = [&] { return sure_items() != 0 ? sure_items() : layout_.total_slots() / 10 * 9; };
  while (bounds_.items + need.keys > most()) {
    if (!grow_index()) throw no_room("index");
    note_bounds();
  }
}

void CudaMachine::commit_session(void* to) {
  const OnDevice on(options_.device);
  auto* const stream = static_cast<cudaStream_t>(to);
  require_session_stream(stream, options_.device);
  close_session(descriptor_.data(), stream);
  last_change_.record(stream);
  changing_.unlock();
}

void CudaMachine::end_session() {
  const std::unique_lock turn(changing_, std::adopt_lock);
  const OnDevice on(options_.device);
  cuda::check(cudaDeviceSynchronize(), "waiting for a session's kernels");  // whatever streams they are on
  close_session(descriptor_.data(), stream_);
  last_change_.record(stream_);
  note_bounds();  // what the session left of its reservation
}

}  // namespace holdfast::machine::cuda
