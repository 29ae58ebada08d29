// gil.cpp: how a thread that Python wants to end is stopped instead.
#include "gil.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>

namespace holdfast::python {
namespace {

/// Whether Py_Finalize() has begun. The function has its public name since 3.13; the stable interface of 3.12 declares neither.
bool is_finalizing() noexcept {
  using Function = int (*)();
  static const auto asked = [] {
    void* found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (found == nullptr) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return reinterpret_cast<Function>(found);
  }();
  return asked != nullptr && asked() != 0;
}

/// Of the thread that runs Py_Finalize(), which alone keeps the interpreter lock after that has begun.
thread_local bool finalizes = false;

/// Threads in callbacks, or that wait for the interpreter lock to begin one. A thread that is stopped there stays counted.
std::atomic<int> in_callbacks{0};

[[noreturn]] void stop_here() noexcept {
  for (;;) pause();  // ends: with the process
}

/// Whether Python ends this thread when it next asks for the interpreter lock, which it then does not have.
bool is_ended() noexcept { return is_finalizing() && !finalizes; }

/// Calls what may take the interpreter lock, and stops the thread if Python ends it there. The handler never returns, for a forced
/// unwinding must continue.
template <class Call>
auto stopped_at_end(const Call& call) noexcept {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    stop_here();
  }
}

}  // namespace

Unlocked::Unlocked() noexcept {
  if (is_finalizing()) finalizes = true;
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  if (is_ended()) stop_here();
  stopped_at_end([this] { PyEval_RestoreThread(state_); });
}

Locked::Locked() {
  in_callbacks.fetch_add(1);  // before the question: may_wait() asks in the other order
  if (is_ended()) {
    in_callbacks.fetch_sub(1);
    throw InterpreterEnded();
  }
  state_ = stopped_at_end([] { return PyGILState_Ensure(); });
}

Locked::~Locked() {
  if (is_ended()) stop_here();  // unwound by Python itself
  PyGILState_Release(state_);
  in_callbacks.fetch_sub(1);
}

PyObject* call_object(PyObject* callable, PyObject* arguments) noexcept {
  return stopped_at_end([&] { return PyObject_CallObject(callable, arguments); });
}

bool may_wait() noexcept { return !is_finalizing() || in_callbacks.load() == 0; }

}  // namespace holdfast::python
