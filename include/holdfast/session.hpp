// session.hpp: a session, in which a user's kernels use a table. Kernels include table_ref.cuh.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast {

/// Selects the code that a kernel is compiled with. A table with the default levels, hash locations and slots
/// (2L-2H-8S) can use the faster code for it, or that for any configuration; other tables need the latter.
struct DefaultConfiguration {};
struct AnyConfiguration {};

/// table_ref.cuh: the kernels' view of a table.
template <class Key, class Value, class Configuration>
class TableRef;

/// The contents of a TableRef.
struct SessionHandle {
  void* descriptor = nullptr;  ///< in GPU memory, at the same address as long as the table is open
  std::uint64_t number = 0;
};

class SessionGate;

/// One changing batch that a user's kernels execute: from Table::session to `commit`. Movable, not copyable.
///
/// Each operation of a kernel follows the protocol of batches: after a crash it is present as a whole or not at all, and
/// other callers see it only when it is durable. The session's own kernels see it at once, concurrent searches as soon
/// as it is durable. Results that a kernel has received are durable when the stream of `commit` gets there. A session is
/// not a transaction: what its kernels did before a crash, or before a session was destroyed without `commit`, stays.
///
/// Searches continue during a session. Changing batches of other threads, and all batches with `ops`, wait
/// for its end, and so do exports, load_cache, reserve, clear, snapshot, sync and check; on the thread that
/// began the session these throw InvalidArgument instead of a deadlock. Table::close ends the session.
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  /// Without `commit`: waits for the GPU and ends the session. The unused part of its reservation is free again.
  ~Session();

  // In a file that is compiled by nvcc and includes table_ref.cuh:
  /// Returns a TableRef for kernels. Throws PoolMismatch if keys or values of the table have another size
  /// (an empty struct stands for values of 0 bytes) or another configuration, InvalidArgument after the end.
  template <class Key = std::uint64_t, class Value = std::uint64_t, class Configuration = DefaultConfiguration>
  TableRef<Key, Value, Configuration> ref() const;
  /// Calls `use` with the TableRef of the table's configuration; `use` is compiled for both.
  template <class Key = std::uint64_t, class Value = std::uint64_t, class Use>
  void visit(Use&& use) const;

  /// Ends the session without waiting. `stream`, a cudaStream_t, comes after all kernels with a TableRef of it: they were
  /// launched there, or it waits for them by events. All their results are durable when the stream gets there. A kernel that
  /// uses a TableRef later gets `not_run`. Throws InvalidArgument if the session has ended, or for a stream of another GPU.
  void commit(void* stream);
  /// False after `commit`, and after the table was closed.
  bool is_open() const;

 private:
  friend class Table;
  struct About {
    SessionHandle handle;
    std::uint32_t key_bytes = 0, value_bytes = 0;
    bool default_configuration = false;
  };
  Session(std::shared_ptr<SessionGate> gate, const About& about);
  void end() noexcept;
  /// Returns the handle, if the table matches the request.
  SessionHandle handle_for(std::uint64_t key_bytes, std::uint64_t value_bytes, bool default_configuration) const;

  std::shared_ptr<SessionGate> gate_;
  About about_;
};

}  // namespace holdfast
