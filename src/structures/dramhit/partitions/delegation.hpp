// delegation.hpp: DRAMHiT-P, §3.2 and §3.3: each partition is changed by one thread of the table's own; others send it messages.
//
// A producer has a queue to every partition: a ring of sections, each with messages of 16 bytes on one kind of operation. Both
// sides look at a shared word once a section. What a side knows of its queues lies packed, four queues to a line.
//
//   send     writes a message; a full section is published, and the next one must have been consumed
//   consume  hands a section's messages to the partition's lane, which asks for their lines
//   flush    publishes what there is, marked: having consumed it, the partition's thread lets its lane finish, and says so
//
// Partition threads wait only for the lock of their jobs, so a producer that waits for space, or at a flush, makes progress.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/line.hpp"
#include "system/fork.hpp"
#include "threads/thread_group.hpp"

namespace holdfast::dramhit {

inline constexpr unsigned kSectionMessages = 63, kSections = 4;

/// One kind of operation, on several keys.
struct alignas(64) Section {
  std::uint32_t size = 0;
  Op op = Op::insert_or_assign;
  bool flush = false;
  Combining with;                                     // one of the handle's: the same in all of its sections
  std::uint64_t messages[2 * kSectionMessages] = {};  ///< hash and value
};

/// From one producer to one partition.
struct SectionQueue {
  alignas(64) std::atomic<std::uint64_t> published{0};
  alignas(64) std::atomic<std::uint64_t> consumed{0};
  std::atomic<std::uint64_t> flushed{0};  ///< marked sections whose operations are done
  Section sections[kSections];
};

class Delegation;

/// One thread's way to the partitions.
class Producer {
 public:
  /// Throws ObjectClosed in a child of fork.
  Producer(Delegation& delegation, const Combining& with);
  ~Producer();  ///< flushes, but not in a child of fork
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// False: the partition is full, and nothing was sent.
  bool send(Op op, std::uint64_t hash, std::uint64_t value);
  /// Returns when all that was sent is done.
  void flush();

 private:
  friend class Delegation;
  struct Ahead {  ///< what the producer knows of a queue
    Section* section = nullptr;
    std::uint32_t at = 0;
    std::uint32_t number = 0;  ///< of the section, from 0 on
  };
  void begin(unsigned partition, Op op);
  void publish(unsigned partition, bool flush);

  Delegation& delegation_;
  const Combining with_;
  std::vector<Ahead> ahead_;
  std::vector<std::uint64_t> flushes_;
  std::vector<std::unique_ptr<SectionQueue>> queues_;
};

class Delegation {
 public:
  Delegation(const Engine& engine, Core& core, unsigned depth);
  ~Delegation();
  Delegation(const Delegation&) = delete;
  Delegation& operator=(const Delegation&) = delete;

  unsigned partitions() const { return static_cast<unsigned>(owners_.size()); }
  /// False in a child of fork, where the partitions' threads are not.
  bool is_here() const { return process_.is_this(); }
  /// Throws ObjectClosed where they are not.
  void must_be_here() const;
  bool is_full(unsigned partition) const { return owners_[partition]->full.load(std::memory_order_relaxed); }
  std::uint64_t refused() const;  ///< messages that came when there was no slot left
  /// Calls `job(partition, its lane)` on every partition's thread at the same time; what has been sent before is done first.
  void run(const std::function<void(unsigned, Lane&)>& job);

 private:
  friend class Producer;
  struct Behind {  ///< what a partition's thread knows of a queue
    SectionQueue* queue = nullptr;
    std::uint64_t number = 0;
  };
  struct alignas(64) Owner {
    std::atomic<bool> full{false};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<bool> has_job{false};
    std::unique_ptr<Lane> lane;
    /// Under mutex_: memory for a list of all queues, since the partition's thread may not throw.
    std::vector<Behind> spare;
  };

  void serve(unsigned partition);
  bool consume(unsigned partition, std::vector<Behind>& queues);
  void take(unsigned partition, Behind& from);
  void look_at_fill(Owner& owner);
  void join(Producer& producer);
  void leave(Producer& producer);

  void stop();

  Core& core_;
  const system::OwningProcess process_;
  std::vector<std::unique_ptr<Owner>> owners_;
  std::atomic<std::uint64_t> producers_changed_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  ///< over what follows
  std::condition_variable jobs_;
  std::vector<Producer*> producers_;
  std::vector<std::uint64_t> seen_;  ///< by each partition: the changes of producers_
  const std::function<void(unsigned, Lane&)>* job_ = nullptr;
  unsigned left_ = 0;
  std::mutex running_;  ///< one job at a time
  threads::ThreadGroup threads_;
};

}  // namespace holdfast::dramhit
