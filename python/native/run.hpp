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
nanobind::any run_batch(AnyTable& table, const Batch& given, bool interruptible) {
  Interrupt interrupt(interruptible && given.size > kLeastRowsOfPieces);
  Batch batch = given;
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
  table.def("run", &run_batch<AnyTable>, "batch"_a, "interruptible"_a,
            "Runs a batch. Returns what a signal's handler raised, or None.");
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
