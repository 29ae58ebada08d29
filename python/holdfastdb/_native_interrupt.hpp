// _native_interrupt.hpp: how a call that may take long hears of signals.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>

namespace holdfast::python {

// Asks the interpreter for signals now and then while a batch runs. Python delivers them to its main thread only.
class Interrupt {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (error_ || now < next_) return error_.has_value();
    next_ = now + kInterval;
    nanobind::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) error_.emplace();  // takes the error that the handler raised
    return error_.has_value();
  }
  /// What the signal's handler raised, KeyboardInterrupt as a rule, or None.
  nanobind::object raised() const { return error_ ? nanobind::borrow(error_->value()) : nanobind::none(); }

 private:
  static constexpr auto kInterval = std::chrono::milliseconds(10);  // another thread may hold the lock: ask seldom
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kInterval;
  std::optional<nanobind::python_error> error_;
};

}  // namespace holdfast::python
