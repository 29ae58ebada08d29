// overlap.cpp: stops the thread that completes saves, and lets it write again.
#include "overlap.hpp"

#include "holdfast/error.hpp"

namespace holdfast::proof {

namespace {

/// Pools flush for an observer only if one watched when they were opened.
pool::FlushObserver* watch_flushes(pool::FlushObserver* observer) {
  pool::FlushObserver* const before = pool::observe_flushes(observer);
  if (before == nullptr) pool::observe_flushes(nullptr);
  return before;
}

void settle(const std::optional<SaveTicket>& ticket) noexcept {
  try {
    if (ticket) ticket->wait();
  } catch (const Error&) {
    // The step that waits for it says so.
  }
}

}  // namespace

Overlap::Overlap() : calls_(system::observe(this)), flushes_(watch_flushes(this)) {}

Overlap::~Overlap() {
  hold_ = Hold::none;
  settle(first_);
  settle(second_);
  if (flushes_ != nullptr) pool::observe_flushes(flushes_);
  system::observe(calls_);
}

void Overlap::end() {
  hold_ = Hold::none;
  second_->wait();
}

void Overlap::wait() noexcept {
  if (std::this_thread::get_id() == caller_) return;
  // ends: the caller of `begin`, `end` or the destructor gets there without this thread
  for (Hold hold = hold_; hold == Hold::both || (hold == Hold::second && first_->is_done()); hold = hold_) {
    held_by_ = hold;
    std::this_thread::yield();
  }
}

void Overlap::await(Hold hold, const SaveTicket& save) const {
  // ends: the other thread writes, or has nothing to write
  while (held_by_ != hold && !save.is_done()) std::this_thread::yield();
}

int Overlap::before(const system::Event& event) noexcept {
  wait();
  return calls_ == nullptr ? 0 : calls_->before(event);
}
std::uint64_t Overlap::most(const system::Event& event) noexcept {
  return calls_ == nullptr ? event.bytes : calls_->most(event);
}
void Overlap::after(system::Event& event) noexcept {
  if (calls_ != nullptr) calls_->after(event);
}
void Overlap::flush(const void* address, std::size_t bytes) noexcept {
  wait();
  flushes_->flush(address, bytes);
}
void Overlap::fence() noexcept {
  wait();
  flushes_->fence();
}

}  // namespace holdfast::proof
