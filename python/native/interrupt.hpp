// interrupt.hpp: how a batch hears of signals, and when their handlers run.
//
// A batch holds locks of its table, and a handler may call the table: so no handler runs, and the interpreter is not waited for,
// before the batch has left its table. Until then all that is asked is whether a signal has come, which Python's own handler in C
// says by a byte to the "wake-up descriptor". That is one for the whole process: it is ours while the batch runs, and the
// former owner, an event loop for example, gets its bytes too.
#pragma once

#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <optional>

#include "gil.hpp"

namespace holdfast::python {

/// Of a batch in Python's main thread, the only one in which handlers run.
class Interrupt {
 public:
  /// With the interpreter lock. Handlers of signals that have come before run now, and what they raise is thrown.
  explicit Interrupt(bool listen) {
    if (!listen || pipe2(ends_, O_NONBLOCK | O_CLOEXEC) != 0) return;
    try {
      former_ = set_wakeup(ends_[1]);
      listens_ = true;
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    } catch (const nanobind::python_error&) {
      stop_listening();
      throw;
    }
  }
  ~Interrupt() { stop_listening(); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Without descriptors a batch hears of signals when it has ended.
  bool listens() const { return listens_; }
  /// Whether a signal has come since it was asked last. Needs no interpreter lock.
  bool is_pending() {
    char bytes[64];
    bool any = false;
    for (ssize_t size; (size = read(ends_[0], bytes, sizeof bytes)) > 0; any = true) {
      // Where the former owner's pipe is full, it has bytes to wake up by.
      if (former_ >= 0) static_cast<void>(!write(former_, bytes, static_cast<std::size_t>(size)));
    }
    return any;
  }
  /// Runs handlers, which may do anything. False if one raised an error.
  bool handle() {
    const Locked acquired;
    handled_ = true;
    if (PyErr_CheckSignals() != 0) error_.emplace();  // takes it
    return !error_;
  }
  bool has_handled() const { return handled_; }
  /// What a handler raised, KeyboardInterrupt as a rule, or None.
  nanobind::object raised() const { return error_ ? nanobind::borrow(error_->value()) : nanobind::none(); }

 private:
  static int set_wakeup(int descriptor) {
    return nanobind::cast<int>(nanobind::module_::import_("signal").attr("set_wakeup_fd")(descriptor));
  }
  void stop_listening() {
    if (listens_) {
      listens_ = false;
      try {
        const int ours = set_wakeup(-1);
        set_wakeup(ours == ends_[1] ? former_ : ours);  // a handler may have named another, to stay
      } catch (const nanobind::python_error&) {         // a handler has closed the former one: no thread waits for it
      }
      is_pending();  // for the former owner
    }
    for (int& end : ends_) {
      if (end >= 0) close(end);
      end = -1;
    }
  }

  int ends_[2] = {-1, -1};
  int former_ = -1;
  bool listens_ = false, handled_ = false;
  std::optional<nanobind::python_error> error_;
};

}  // namespace holdfast::python
