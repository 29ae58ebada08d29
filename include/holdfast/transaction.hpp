// transaction.hpp: atomic groups of updates of a region. GPM §5.2, figure 6.
//
//   holdfast::Transaction::recover(log, region);                      // after each opening
//   holdfast::Transaction batch(log, region, holdfast::Domain::process, holdfast::Writer::gpu);
//   kernel<<<blocks, threads, 0, stream>>>(batch.handle());            // TransactionRef::update, in log.cuh
//   cudaStreamSynchronize(stream);
//   batch.commit();
//
// The log is hierarchical, with a place for each thread of the largest kernel, and entries 8 bytes larger than the
// largest update. One log serves one region, one transaction after another. Two threads must not update one location
// in one transaction: its old value is then unknown. Builds with assertions check this, and `commit` throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "holdfast/log.hpp"
#include "holdfast/region.hpp"

namespace holdfast {

/// The contents of a TransactionRef: log.cuh.
struct TransactionHandle {
  LogHandle log;
  std::uint32_t* region = nullptr;
  std::uint64_t words = 0;  ///< of the region, of 4 bytes
};

class Transaction {
 public:
  /// Undoes a transaction that a crash interrupted; true if there was one. May be killed and repeated. Throws PoolCorrupt
  /// if the log contains entries of no transaction, InvalidArgument if it belongs to another region: then nothing changed.
  static bool recover(Log& log, Region& region);

  /// Begins a transaction. Throws InvalidArgument if the log is not empty (recover
  /// first), or if a region has less than 4 bytes; and as Region::section.
  Transaction(Log& log, Region& region, Domain domain = Domain::process, Writer writer = Writer::cpu);
  ~Transaction();  ///< without `commit`: undoes it. Its kernels must have ended.
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// On the CPU: writes `value` at `offset` bytes of the region; both sizes are multiples of 4. `place`: the thread's.
  /// `no_place` too for bytes that are not in the region.
  LogStatus update(std::uint64_t place, std::uint64_t offset, const void* value, std::size_t bytes);
  template <class T>
  LogStatus update(std::uint64_t place, std::uint64_t offset, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return update(place, offset, &value, sizeof value);
  }
  TransactionHandle handle();

  /// Commits the batch durably. Its kernels must have ended. Throws InvalidArgument the second time.
  void commit();

 private:
  void refuse_shared_locations() const;

  Log* log_;
  Region* region_;
  Section section_;
  Domain domain_;
  bool open_ = true;
};

}  // namespace holdfast
