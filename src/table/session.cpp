// session.cpp: sessions as their users see them: begun by a table, committed, ended, checked. Rule 23.
#include "holdfast/session.hpp"

#include <utility>

#include "core/both.hpp"
#include "holdfast/table.hpp"
#include "pool/kinds/describe.hpp"
#include "structures/gphash/layout.hpp"
#include "table/impl.hpp"
#include "table/session_gate.hpp"

namespace holdfast {

namespace {

constexpr std::uint64_t kMostChanges = std::uint64_t{1} << 40;

}  // namespace

void SessionGate::begin(gphash::Machine& machine, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  HOLDFAST_ASSERT(!is_open() && number != 0);
  machine_ = &machine;
  began_ = std::this_thread::get_id();
  open_.store(number, std::memory_order_release);
}

void SessionGate::wait() const {
  if (!is_open()) return;
  std::unique_lock lock(mutex_);
  refuse_own_of_locked();
  ended_.wait(lock, [this] { return !is_open(); });
}

void SessionGate::refuse_own() const {
  const std::lock_guard lock(mutex_);
  refuse_own_of_locked();
}

void SessionGate::refuse_own_of_locked() const {
  if (!is_open() || began_ != std::this_thread::get_id()) return;
  throw InvalidArgument(
      "a session that this thread began is open on " + path_ +
      ", and all else that changes or exports the table, or gives each row a different operation, waits for "
      "its end: commit it first");
}

void SessionGate::has_ended() {
  machine_ = nullptr;
  open_.store(0, std::memory_order_release);
  ended_.notify_all();
}

void SessionGate::commit(std::uint64_t number, void* stream) {
  const std::lock_guard lock(mutex_);
  if (!is_open(number)) {
    throw InvalidArgument("this session of " + path_ +
                          " has ended, by its commit or because the table was closed: begin another");
  }
  HOLDFAST_ASSERT(machine_ != nullptr);
  machine_->commit_session(stream);
  has_ended();
}

void SessionGate::end(std::uint64_t number) {
  if (!process_.is_this()) return;  // a forked child has no GPU, and the session is its parent's
  const std::lock_guard lock(mutex_);
  if (number == 0 || !is_open(number)) return;
  HOLDFAST_ASSERT(machine_ != nullptr);
  struct Ended {
    ~Ended() { gate.has_ended(); }
    SessionGate& gate;
  } const ended{*this};
  machine_->end_session();
}

Session::Session(std::shared_ptr<SessionGate> gate, const About& about) : gate_(std::move(gate)), about_(about) {}
Session::Session(Session&& other) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  if (this == &other) return *this;
  end();
  gate_ = std::move(other.gate_);
  about_ = other.about_;
  return *this;
}

Session::~Session() { end(); }

void Session::end() noexcept {
  if (!gate_) return;
  try {
    gate_->end(about_.handle.number);
  } catch (const std::exception&) {
    // The GPU has failed: nothing runs any more, and the next use of the table reports it.
  }
}

void Session::commit(void* stream) {
  if (!gate_) throw InvalidArgument("this session was moved from: commit the one that it was moved to");
  gate_->commit(about_.handle.number, stream);
}

bool Session::is_open() const { return gate_ != nullptr && gate_->is_open(about_.handle.number); }

SessionHandle Session::handle_for(std::uint64_t key_bytes, std::uint64_t value_bytes,
                                  bool default_configuration) const {
  if (!is_open()) throw InvalidArgument("this session has ended: kernels need one that is open");
  const std::string& path = gate_->path();
  if (key_bytes != about_.key_bytes || value_bytes != about_.value_bytes) {
    throw PoolMismatch(path + " has " + pool::in_bytes("keys", about_.key_bytes) + " and " +
                       pool::in_bytes("values", about_.value_bytes) + ", not " + pool::in_bytes("keys", key_bytes) +
                       " and " + pool::in_bytes("values", value_bytes) + ": give ref<Key, Value>() types of its sizes");
  }
  if (default_configuration && !about_.default_configuration) {
    throw PoolMismatch(path +
                       " is not 2L-2H-8S, the configuration that DefaultConfiguration is compiled for: use "
                       "ref<Key, Value, AnyConfiguration>(), or visit()");
  }
  return about_.handle;
}

Session Table::session(void* stream, std::uint64_t max_changes) {
  const auto alone = impl_->change_alone();
  const std::string& path = impl_->path;
  if (impl_->read_only) impl_->about_to_change();  // throws
  if (!impl_->machine().on_gpu()) {
    throw InvalidArgument("sessions are for kernels, and " + path +
                          " is worked on by the CPU: open the table with device=\"cuda\"");
  }
  if (impl_->key_bytes == kVariableBytes) {
    throw InvalidArgument("keys and values of " + path +
                          " are of any length, which kernels cannot use in this version: use batches");
  }
  if (max_changes > kMostChanges) {
    throw InvalidArgument("max_changes is " + std::to_string(max_changes) +
                          ": give at most 2^40, and no more than the "
                          "kernels of one session will do");
  }
  impl_->about_to_change();
  Session::About about;
  about.handle = impl_->machine().begin_session(max_changes, impl_->score_now(), stream);
  about.key_bytes = impl_->key_bytes;
  about.value_bytes = impl_->value_bytes;
  about.default_configuration = gphash::is_default(gphash::shape_of(impl_->object().shape()));
  impl_->sessions->begin(impl_->machine(), about.handle.number);
  return Session(impl_->sessions, about);
}

}  // namespace holdfast
