// session.hpp: the right of a user's own kernels to work on a table, and its end. Kernels include table_ref.cuh.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast {

/// Which code a kernel is compiled into. A table made with the default levels, hash locations and slots (2L-2H-8S) is worked on
/// by the faster code for it, or by that for any configuration; others by the latter.
struct DefaultConfiguration {};
struct AnyConfiguration {};

/// table_ref.cuh: what a kernel is given.
template <class Key, class Value, class Configuration>
class TableRef;

/// What a TableRef is made of.
struct SessionHandle {
  void* descriptor = nullptr;  ///< in GPU memory, at the same address as long as the table is open
  std::uint64_t number = 0;
};

class SessionGate;

/// One changing batch, which a user's kernels carry out: from Table::session to `commit`. Movable, not copyable.
///
/// Each operation of a kernel is done by the protocol that batches follow: after a crash it is there as a whole or not at all, and
/// nobody sees it before it is durable. The session's own kernels see it at once, searches beside them as soon as it is durable.
/// What a kernel has been answered is durable when the stream of `commit` gets there. A session is no transaction: what its
/// kernels did before a crash, or before a session was destroyed without `commit`, stays.
///
/// Searches go on beside a session. Changing batches of other threads, and all batches with `ops`, wait for its end, and so do
/// exports, load_cache, reserve, clear, snapshot, sync and check; the same by the thread that began it throws InvalidArgument,
/// since they would wait for ever. Table::close ends it.
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  /// Without `commit`: waits for the GPU, and ends the session. What it did not use of its reservation is free again.
  ~Session();

  // In a file that is compiled by nvcc and includes table_ref.cuh:
  /// For kernels, by value. Throws PoolMismatch if keys or values of the table have another size (an empty struct stands for
  /// values of 0 bytes) or its configuration is another, InvalidArgument after the end.
  template <class Key = std::uint64_t, class Value = std::uint64_t, class Configuration = DefaultConfiguration>
  TableRef<Key, Value, Configuration> ref() const;
  /// Calls `use` with the TableRef of the table's own configuration: it is compiled for both.
  template <class Key = std::uint64_t, class Value = std::uint64_t, class Use>
  void visit(Use&& use) const;

  /// Ends the session, and returns. `stream`, a cudaStream_t, comes after all kernels that were given a TableRef of it: they were
  /// launched there, or it waits for them by events. All that they were answered is durable when the stream gets there. A kernel that
  /// uses a TableRef later is answered `not_run`. Throws InvalidArgument if the session has ended, or for a stream of another GPU.
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
  /// The handle, if the table is as it is asked for.
  SessionHandle handle_for(std::uint64_t key_bytes, std::uint64_t value_bytes, bool default_configuration) const;

  std::shared_ptr<SessionGate> gate_;
  About about_;
};

}  // namespace holdfast
