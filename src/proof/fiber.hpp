// fiber.hpp: coroutines with separate stacks, so that shipped code can be stopped at any memory access.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace holdfast::proof {

/// The callers of one execution, and the explorer that switches between them. Everything runs on one thread, so an
/// abandoned fiber is simply forgotten: what runs in one must hold no heap memory while it can be switched away.
class Fibers {
 public:
  explicit Fibers(unsigned callers);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Begins fiber `i` anew; what it was doing is forgotten. `body` must not return: it ends with `to_main`.
  void start(unsigned i, const std::function<void(unsigned)>* body);
  /// From the main context into a fiber; returns when a fiber calls to_main.
  void enter(unsigned i);
  /// From one fiber into another.
  void switch_to(unsigned i);
  /// From a fiber back to the main context.
  void to_main();

 private:
  struct Fiber;
  static void trampoline();

  void leave_for(Fiber& to);

  std::unique_ptr<Fiber[]> fibers_;  // the last is the main context
  unsigned main_;
  unsigned current_;
};

}  // namespace holdfast::proof
