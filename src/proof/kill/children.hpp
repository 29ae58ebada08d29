// children.hpp: what the killed processes do: one writes to the pool, another reopens it and reports what it finds.
#pragma once

#include "proof/kill/shared.hpp"

namespace holdfast::proof::kill {

/// What the writer of a subject does, from beginning to end. Lets exceptions out: then the life counts as a violation.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Creates or opens the pool.
  virtual void open() = 0;
  virtual unsigned threads() const = 0;
  /// On a thread each: notes calls, makes them, and acknowledges them. Returns when the journal is full.
  virtual void call(unsigned thread) = 0;
};

/// What the recovering child of a subject does.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Opens and recovers what the writer left. Tried again as long as it throws PoolInUse.
  virtual void open() = 0;
  /// Writes all that there is into shared memory.
  virtual void look() = 0;
  virtual void close() = 0;
};

/// Creates or opens the pool and calls it until it is killed. Returns an exit status.
int write_until_killed(Shared& shared, Writer& writer);
/// Waits for `go`, opens the pool, reports what it holds, and ends as `shared.ending` says. Returns an exit status.
int reopen_and_report(Shared& shared, Reader& reader);

#ifdef HOLDFAST_WITH_CUDA
/// Lets kernels see the page of failpoints.
void register_failpoints();
#endif

}  // namespace holdfast::proof::kill
