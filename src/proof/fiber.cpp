// fiber.cpp: coroutines over ucontext, announced to the sanitizers.
#include "proof/fiber.hpp"

#include <vector>

#include "core/both.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast::proof {

namespace {
constexpr std::size_t kStack = std::size_t{1} << 18;  // its shadow is small enough for ASan to clear quickly
Fibers* active = nullptr;
}  // namespace

struct Fibers::Fiber {
  ucontext_t context;
  std::vector<char> stack;
  const std::function<void(unsigned)>* body = nullptr;
  void* thread = nullptr;      // TSan's name for it
  void* fake_stack = nullptr;  // ASan's
  const void* bottom = nullptr;
  std::size_t size = 0;
};

Fibers::Fibers(unsigned callers) : fibers_(new Fiber[callers + 1]), main_(callers), current_(callers) {
  for (unsigned i = 0; i < callers; ++i) {
    fibers_[i].stack.resize(kStack);
    fibers_[i].bottom = fibers_[i].stack.data();
    fibers_[i].size = kStack;
  }
#if defined(__SANITIZE_THREAD__)
  fibers_[main_].thread = __tsan_get_current_fiber();
#endif
}

Fibers::~Fibers() {
#if defined(__SANITIZE_THREAD__)
  for (unsigned i = 0; i < main_; ++i) {
    if (fibers_[i].thread != nullptr) __tsan_destroy_fiber(fibers_[i].thread);
  }
#endif
}

void Fibers::start(unsigned i, const std::function<void(unsigned)>* body) {
  Fiber& fiber = fibers_[i];
  fiber.body = body;
  fiber.fake_stack = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(fiber.stack.data(), fiber.stack.size());
#endif
#if defined(__SANITIZE_THREAD__)
  if (fiber.thread != nullptr) __tsan_destroy_fiber(fiber.thread);
  fiber.thread = __tsan_create_fiber(0);
#endif
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Fibers::trampoline), 1, i);
}

void Fibers::trampoline(unsigned i) {
  Fibers& self = *active;
#if defined(__SANITIZE_ADDRESS__)
  Fiber& main = self.fibers_[self.main_];
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (main.bottom == nullptr) {
    main.bottom = bottom;
    main.size = size;
  }
#endif
  (*self.fibers_[i].body)(i);
  HOLDFAST_ASSERT(!"a fiber's body returned");
}

void Fibers::leave_for(Fiber& to) {
  Fiber& from = fibers_[current_];
  current_ = static_cast<unsigned>(&to - fibers_.get());
  active = this;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.thread, 0);
#endif
  swapcontext(&from.context, &to.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void Fibers::enter(unsigned i) { leave_for(fibers_[i]); }
void Fibers::switch_to(unsigned i) { leave_for(fibers_[i]); }
void Fibers::to_main() { leave_for(fibers_[main_]); }

}  // namespace holdfast::proof
