// _native_run.hpp: runs a batch of addresses on a table of either kind, with the interpreter lock released.
#pragma once

#include "_native.hpp"
#include "_native_interrupt.hpp"
#include "holdfast/table.hpp"

namespace holdfast::python {

using Ran = nanobind::typed<nanobind::tuple, nanobind::typed<nanobind::list, std::uint64_t>, bool, nanobind::any>;

/// Returns (counts by status, stopped, raised).
template <class AnyTable>
Ran run_batch(AnyTable& table, std::size_t size, unsigned op, std::uintptr_t ops, std::uintptr_t keys,
              std::uintptr_t values, std::uintptr_t out, std::uintptr_t statuses, std::uintptr_t found,
              std::uintptr_t mask, unsigned combine, unsigned element, double scale, std::uint32_t column,
              std::uint32_t column_bytes, bool unique, bool on_device, std::uintptr_t stream, bool interruptible,
              std::uintptr_t scores) {
  Interrupt interrupt;
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
  batch.combine = static_cast<Combine>(combine);
  batch.element = static_cast<Element>(element);
  batch.scale = scale;
  batch.column = column;
  batch.column_bytes = column_bytes;
  batch.unique = unique;
  batch.on_device = on_device;
  batch.stream = at<void>(stream);
  if (interruptible) batch.stop = [&interrupt] { return interrupt(); };
  BatchResult result;
  {
    nanobind::gil_scoped_release released;
    result = table.run(batch);
  }
  nanobind::list counts;
  for (const std::uint64_t count : result.count) counts.append(count);
  return nanobind::borrow<Ran>(nanobind::make_tuple(counts, result.stopped, interrupt.raised()));
}

}  // namespace holdfast::python
