// run.hpp: batches and exports of a table of either kind over
// addresses, with the interpreter lock released.
#pragma once

#include "holdfast/table.hpp"
#include "interrupt.hpp"
#include "native.hpp"

namespace holdfast::python {

/// From so many rows on a batch may be in several pieces. The signals of a smaller one are heard when it has ended.
constexpr std::size_t kLeastRowsOfPieces = 4096;

/// Runs it to its end, or until a signal's handler has raised an error. Handlers run while the batch has left the table.
template <class AnyTable>
void run_listening(AnyTable& table, Batch& batch, Interrupt& interrupt) {
  if (!interrupt.listens()) {
    table.run(batch);
    return;
  }
  for (;;) {
    std::stop_source pause;
    batch.stop = pause.get_token();
    batch.progress = [&](std::size_t) {
      if (interrupt.is_pending()) pause.request_stop();
    };
    const BatchResult result = table.run(batch);
    if (!result.stopped || !interrupt.handle()) return;
    batch.from = result.next;
  }
}

/// Returns what a signal's handler raised meanwhile, or the error of a table that it closed, or None: then all has run.
template <class AnyTable>
nanobind::any run_batch(AnyTable& table, std::size_t size, unsigned op, std::uintptr_t keys, std::uintptr_t ops,
                        std::uintptr_t key_offsets, std::uintptr_t values, std::uintptr_t value_offsets,
                        std::uintptr_t out, HeldBlobs* blobs, HeldDeviceBlobs* device_blobs, std::uintptr_t statuses,
                        std::uintptr_t found, std::uintptr_t scores, std::uintptr_t mask, unsigned combine,
                        unsigned element, double scale, std::uint32_t column, std::uint32_t column_bytes, bool unique,
                        bool on_device, std::uintptr_t stream, bool interruptible) {
  Interrupt interrupt(interruptible && size > kLeastRowsOfPieces);
  Batch batch;
  batch.size = size;
  batch.op = static_cast<Op>(op);
  batch.ops = at<const std::uint8_t>(ops);
  batch.keys = at<const void>(keys);
  batch.values = at<const void>(values);
  batch.out = at<void>(out);
  batch.statuses = at<Status>(statuses);
  batch.found = at<bool>(found);
  batch.scores = at<std::uint64_t>(scores);
  batch.mask = at<const std::uint8_t>(mask);
  batch.unique = unique;
  batch.accumulate = Accumulate{static_cast<Combine>(combine), static_cast<Element>(element), scale};
  if (column != 0 || column_bytes != 0) batch.column = Column{column, column_bytes};
  const VariableLength parts{at<const std::uint64_t>(key_offsets), at<const std::uint64_t>(value_offsets), blobs,
                             device_blobs};
  if (parts.key_offsets || parts.value_offsets || blobs || device_blobs) batch.variable = parts;
  if (on_device) batch.device = Device{at<void>(stream)};
  try {
    const Unlocked released;
    run_listening(table, batch, interrupt);
  } catch (const Error&) {
    if (!interrupt.has_handled()) throw;
    return nanobind::borrow<nanobind::any>(python_error_of(std::current_exception()));
  }
  return nanobind::borrow<nanobind::any>(interrupt.raised());
}

/// Adds it as the method `run`.
template <class AnyTable>
void bind_run(nanobind::class_<AnyTable>& table) {
  using namespace nanobind::literals;
  table.def("run", &run_batch<AnyTable>, "size"_a, "op"_a, "keys"_a, "ops"_a = 0, "key_offsets"_a = 0, "values"_a = 0,
            "value_offsets"_a = 0, "out"_a = 0, "blobs"_a.none() = nanobind::none(),
            "device_blobs"_a.none() = nanobind::none(), "statuses"_a = 0, "found"_a = 0, "scores"_a = 0, "mask"_a = 0,
            "combine"_a = 0, "element"_a = 0, "scale"_a = 1.0, "column"_a = 0, "column_bytes"_a = 0, "unique"_a = false,
            "on_device"_a = false, "stream"_a = 0, "interruptible"_a = false,
            "Runs a batch; all arrays are addresses, 0 for none. Keys and "
            "values of any length have offsets, and what is "
            "read of them goes to blobs. Returns what a signal's handler "
            "raised, or None.");
}

using Exported = nanobind::typed<nanobind::tuple, std::size_t, std::uint64_t>;

/// Returns how many items `copy` copied, and the cursor, which it advances.
template <class Copy>
Exported exported(std::uint64_t cursor, const Copy& copy) {
  std::size_t count = 0;
  {
    const Unlocked released;
    count = copy(cursor);
  }
  return nanobind::borrow<Exported>(nanobind::make_tuple(count, cursor));
}

}  // namespace holdfast::python
