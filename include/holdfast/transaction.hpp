// transaction.hpp: updates of a region that are all there after a crash, or none of them. GPM §5.2, figure 6.
//
//   holdfast::Transaction::recover(log, region);                      // after each opening
//   holdfast::Transaction batch(log, region, holdfast::Domain::process, holdfast::Writer::gpu);
//   kernel<<<blocks, threads, 0, stream>>>(batch.handle());            // TransactionRef::update, in log.cuh
//   cudaStreamSynchronize(stream);
//   batch.commit();
//
// The log is hierarchical, with a place for each thread of the largest kernel, and entries of 8 bytes more than the largest update.
// One log serves one region, one transaction after another. Two threads must not update one location in one transaction: what it had
// before is then not known. Builds with assertions look for that, and `commit` throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "holdfast/log.hpp"
#include "holdfast/region.hpp"

namespace holdfast {

/// What a TransactionRef is made of: log.cuh.
struct TransactionHandle {
  LogHandle log;
  std::uint32_t* region = nullptr;
  std::uint64_t words = 0;  ///< of the region, of 4 bytes
};

class Transaction {
 public:
  /// Undoes the transaction that a crash left; true if there was one. May be killed and repeated.
  /// Throws PoolCorrupt where the log has what no transaction wrote, InvalidArgument where it is of another region: nothing changed.
  static bool recover(Log& log, Region& region);

  /// Begins one. Throws InvalidArgument where the log is not empty (recover first), or a region is of less than 4 bytes; and what
  /// Region::section throws.
  Transaction(Log& log, Region& region, Domain domain = Domain::process, Writer writer = Writer::cpu);
  ~Transaction();  ///< without `commit`: undoes it. What its kernels do has ended.
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

  /// The batch is there, durably. All kernels of it have ended. Throws InvalidArgument the second time.
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
