// descriptor.hpp: all that users' kernels need of a table, in GPU memory at one address (rule 23).
//
// It is written when a session begins, behind every batch before it, and says that none is open from its end on. In between nothing
// that it names can move: the session holds an epoch, and the thread that would change the table's layout waits.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/protocol/geometry.hpp"

namespace holdfast::gphash::cuda {

struct Descriptor {
  std::uint64_t session = 0;  ///< its number; 0: none is open
  std::uint64_t epoch = 0;    ///< that it holds
  DeviceState* state = nullptr;
  CellRing ring;
  CacheView cache;
  std::uint64_t score = 0;  ///< what its changes set, where scores are no frequencies
  // The table, as code for each shape sees it; what is not of its shape means nothing.
  gphash::View<gphash::DefaultShape> narrow;
  gphash::View<gphash::DefaultWideShape> wide;
  gphash::View<gphash::RuntimeShape> any;
  alignas(128) std::int64_t left = 0;  ///< changes that its kernels may still make

  template <class Shape>
  HOLDFAST_BOTH const gphash::View<Shape>& view() const;
};
static_assert(sizeof(Descriptor) <= 4096, "it travels to the GPU as a kernel's argument");

template <>
HOLDFAST_BOTH inline const gphash::View<gphash::DefaultShape>& Descriptor::view() const {
  return narrow;
}
template <>
HOLDFAST_BOTH inline const gphash::View<gphash::DefaultWideShape>& Descriptor::view() const {
  return wide;
}
template <>
HOLDFAST_BOTH inline const gphash::View<gphash::RuntimeShape>& Descriptor::view() const {
  return any;
}

/// Behind what `stream` has: writes the descriptor of a session, which holds an epoch from now on.
void open_session(Descriptor* descriptor, const Descriptor& session, void* stream);
/// Ends it: what it did not take is free again, and kernels that still have its number are answered `not_run`.
void close_session(Descriptor* descriptor, void* stream);

}  // namespace holdfast::gphash::cuda
