// fiber.cpp: coroutines that switch stacks, announced to the sanitizers.
#include "proof/fiber.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/both.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace holdfast::proof {

namespace {
constexpr std::size_t kStack = std::size_t{1} << 18;  // its shadow is small enough for ASan to clear quickly
Fibers* active = nullptr;

#if defined(__x86_64__)
#if defined(__clang__)
#define HOLDFAST_WHOLE_CALL [[gnu::naked, gnu::noinline]]
#else  // GCC would keep values in registers that the function does not seem to change
#define HOLDFAST_WHOLE_CALL [[gnu::naked, gnu::noipa]]
#endif

/// Where a stack is left: a pointer to the registers that a call preserves.
using Context = void*;

/// Saves the registers that a call preserves and the stack pointer in `from`, and takes those of `to`. swapcontext does the same and
/// two system calls for the mask of signals, which took nine tenths of the time of a model test.
HOLDFAST_WHOLE_CALL void switch_stacks([[maybe_unused]] Context* from, [[maybe_unused]] Context to) {
  asm("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
      "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
      "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}

/// Makes the first switch to `context` enter `entry` on `stack`.
void prepare(Context& context, std::vector<char>& stack, void (*entry)()) {
  constexpr std::size_t kPreserved = 6;
  const auto end = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) / 16 * 16;
  // Above the registers: where the switch returns to, and then, as the stack is aligned on a call, that there is no caller.
  auto* const top = reinterpret_cast<std::uintptr_t*>(end) - (kPreserved + 2);
  std::fill_n(top, kPreserved + 2, 0);
  top[kPreserved] = reinterpret_cast<std::uintptr_t>(entry);
  context = top;
}
#else
using Context = ucontext_t;

void switch_stacks(Context* from, const Context& to) { swapcontext(from, &to); }

void prepare(Context& context, std::vector<char>& stack, void (*entry)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack.data();
  context.uc_stack.ss_size = stack.size();
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}
#endif
}  // namespace

struct Fibers::Fiber {
  Context context = {};
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
  prepare(fiber.context, fiber.stack, &Fibers::trampoline);
}

void Fibers::trampoline() {
  Fibers& self = *active;
  const unsigned i = self.current_;
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
  switch_stacks(&from.context, to.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void Fibers::enter(unsigned i) { leave_for(fibers_[i]); }
void Fibers::switch_to(unsigned i) { leave_for(fibers_[i]); }
void Fibers::to_main() { leave_for(fibers_[main_]); }

}  // namespace holdfast::proof
