// session_gate.hpp: the session that is open on a table, if one is: who waits for its end, and who ends it. Rule 23.
//
// A session passes the gates of its table (impl.hpp) when it begins, and does not stay in them: its end may come from another thread.
// Who changes the table looks here when it has passed the first gate, and goes back and waits if a session is open.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "structures/gphash/machine.hpp"
#include "system/fork.hpp"

namespace holdfast {

/// Shared by a table and its sessions, any of which may go first.
class SessionGate {
 public:
  explicit SessionGate(std::string path) : path_(std::move(path)) {}

  bool is_open() const { return open_.load(std::memory_order_acquire) != 0; }
  bool is_open(std::uint64_t number) const { return open_.load(std::memory_order_acquire) == number; }
  const std::string& path() const { return path_; }

  /// The machine has begun one. The caller keeps the table still.
  void begin(gphash::Machine& machine, std::uint64_t number);
  /// Waits until none is open. Throws as `refuse_own`.
  void wait() const;
  /// Throws InvalidArgument where this thread began the one that is open.
  void refuse_own() const;
  /// Throws InvalidArgument if session `number` has ended.
  void commit(std::uint64_t number, void* stream);
  /// Ends session `number`, or whichever is open, if it is; waits for the GPU.
  void end(std::uint64_t number);
  void end() { end(open_.load(std::memory_order_acquire)); }

 private:
  void has_ended();
  void refuse_own_of_locked() const;

  const std::string path_;
  const system::OwningProcess process_;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::atomic<std::uint64_t> open_{0};  ///< its number
  gphash::Machine* machine_ = nullptr;
  std::thread::id began_;
};

}  // namespace holdfast
