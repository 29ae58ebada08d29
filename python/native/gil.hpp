// gil.hpp: the only guards that release the interpreter lock around a call, and take it for a callback.
//
// When the interpreter ends, every other thread that then asks for its lock is ended by Python, before 3.14 by pthread_exit().
// That unwinds the stack as an exception does, through destructors and `catch (...)` of C++, which abort the process. With these
// guards such a thread waits, inside the guard, until the process exits. The call itself has ended before, so that what it did is
// durable and its locks are free. The same can happen in a callback, whose Python code gives the lock away and asks for it again.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

namespace holdfast::python {

/// Thrown into a call of ours by the callback that could not run. The guard that released the lock catches the thread.
class InterpreterEnded : public std::exception {
 public:
  const char* what() const noexcept override { return "the Python interpreter has ended"; }
};

/// Releases the interpreter lock, and takes it again at its end. Nothing that needs a lock of ours may be destroyed after it.
class Unlocked {
 public:
  Unlocked() noexcept;
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Takes the interpreter lock in a callback of a call that has released it.
class Locked {
 public:
  /// Throws InterpreterEnded instead of waiting for a lock that this thread cannot get any more.
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// PyObject_CallObject(), in which Python may end the thread: it is stopped before anything of C++ is unwound.
PyObject* call_object(PyObject* callable, PyObject* arguments) noexcept;

/// Calls Python, under a Locked. Throws what that raised.
template <class... Arguments>
nanobind::object call_back(const nanobind::handle& callable, Arguments&&... arguments) {
  const nanobind::tuple all = nanobind::make_tuple(std::forward<Arguments>(arguments)...);
  PyObject* const result = call_object(callable.ptr(), all.ptr());
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

/// False if the interpreter ends and a thread may have been stopped in a callback, where it holds locks of ours: what waits for them
/// would never end. The calling thread has released the interpreter lock.
bool may_wait() noexcept;

}  // namespace holdfast::python
