// sessions.cpp: space for the changes of users' kernels, their place among batches, and their end.
#include "structures/gphash/cuda/users/sessions.hpp"

#include "gpu/capture.hpp"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

void require_session_stream(cudaStream_t stream, int device) {
  if (is_capturing(stream)) {
    throw InvalidArgument(
        "stream is being captured into a CUDA graph, and a graph cannot hold the beginning or the end of a session, "
        "whose "
        "space the host makes: begin and commit it outside, and launch the graph in between");
  }
  require_stream(stream, device);
}

}  // namespace

/// Keeps changing batches out until the session ends.
SessionHandle Sessions::begin(std::uint64_t max_changes, std::uint64_t score, cudaStream_t stream) {
  const OnDevice on(table_.options.device);
  require_session_stream(stream, table_.options.device);
  std::unique_lock exclusive(table_.order.changing());
  table_.order.require_working();
  free_what_graphs_kept();
  if (max_changes != 0) table_.begin_moves();
  const Need need{max_changes, table_.layout().in_slot() ? 0 : max_changes};
  if (!changes_.fits(need)) make_space(need);
  if (descriptor_.size() == 0) descriptor_ = DeviceBuffer<Descriptor>(1);
  Descriptor session;
  session.session = ++begun_;
  session.left = static_cast<std::int64_t>(max_changes);
  session.state = table_.state.words();
  session.ring = table_.state.ring();
  session.cache = table_.memory.caches();
  session.score = score;
  session.any = table_.layout();
  session.narrow = view_as<gphash::DefaultShape>(table_.layout());
  session.wide = view_as<gphash::DefaultWideShape>(table_.layout());
  table_.order.follow(stream);
  settle_cells(table_.state.words(), stream);
  open_session(descriptor_.data(), session, stream);
  table_.order.note(stream);
  table_.state.expect(need.keys, need.cells);
  static_cast<void>(exclusive.release());
  return {descriptor_.data(), begun_};
}

/// Grows the table until so many changes surely find slots and cells. Where inserts may fail at any load, as far as they mostly do not.
void Sessions::make_space(Need need) {
  const auto no_space = [&](const char* what) {
    table_.state.note_bounds();
    return NoSpace("no space in " + table_.pool.path() + " for a session of " + std::to_string(need.keys) +
                   " changes: its " + what +
                   " cannot grow so far. Make space on its medium, or give a smaller max_changes");
  };
  table_.order.finish();
  if (need.cells != 0) {
    searches_.finish_searches();  // retired cells are free when they have no reader
    table_.state.settle(table_.stream);
    table_.state.settle(table_.stream);
    table_.state.note_bounds();
    while (table_.state.bounds().free_cells < need.cells + changes_.reserve_of(need)) {
      if (!maintenance_.grow_heap(need.cells + changes_.reserve_of(need) - table_.state.bounds().free_cells))
        throw no_space("value heap");
      table_.state.note_bounds();
    }
  }
  const auto most = [&] {
    return changes_.sure_items() != 0 ? changes_.sure_items() : table_.layout().total_slots() / 10 * 9;
  };
  while (table_.state.bounds().items + need.keys > most()) {
    if (!maintenance_.grow_index()) throw no_space("index");
    table_.state.note_bounds();
  }
}

void Sessions::commit(cudaStream_t stream) {
  const OnDevice on(table_.options.device);
  require_session_stream(stream, table_.options.device);
  close_session(descriptor_.data(), stream);
  table_.order.note(stream);
  table_.order.changing().unlock();
}

void Sessions::end() {
  const std::unique_lock exclusive(table_.order.changing(), std::adopt_lock);
  const OnDevice on(table_.options.device);
  cuda::check(cudaDeviceSynchronize(), "waiting for a session's kernels");  // whatever streams they are on
  close_session(descriptor_.data(), table_.stream);
  table_.order.note(table_.stream);
  table_.state.note_bounds();  // what the session left of its reservation
}

}  // namespace holdfast::gphash::cuda
