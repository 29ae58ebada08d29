// delegation.cpp: section queues, and the threads that own the partitions.
#include "structures/dramhit/partitions/delegation.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::dramhit {
namespace {

constexpr unsigned kIdleRounds = 64;     ///< without a message, before a thread lets others run
constexpr unsigned kLongIdle = 1 << 14;  ///< after which it sleeps a little
constexpr std::chrono::microseconds kNap{50};
constexpr int kFullPercent = 90;  ///< of a partition's slots; what is under way by then still fits

}  // namespace

Producer::Producer(Delegation& delegation, const Combining& with)
    : delegation_(delegation), with_(with), ahead_(delegation.partitions()), flushes_(delegation.partitions(), 0) {
  delegation_.must_be_here();
  for (unsigned p = 0; p < delegation.partitions(); ++p) queues_.push_back(std::make_unique<SectionQueue>());
  delegation_.join(*this);
}

Producer::~Producer() {
  if (!delegation_.is_here()) return;
  flush();
  delegation_.leave(*this);
}

bool Producer::send(Op op, std::uint64_t hash, std::uint64_t value) {
  const auto partition = static_cast<unsigned>(high(hash, ahead_.size()));
  Ahead& ahead = ahead_[partition];
  if (ahead.section == nullptr || ahead.section->op != op) [[unlikely]] {
    if (ahead.section != nullptr) publish(partition, false);
    begin(partition, op);
  }
  if (ahead.at == 0 && op != Op::erase && delegation_.is_full(partition)) [[unlikely]]
    return false;
  std::uint64_t* const message = ahead.section->messages + std::size_t{2} * ahead.at;
  message[0] = hash;
  message[1] = value;
  if ((reinterpret_cast<std::uintptr_t>(message) & 63) == 48) prefetch_to_change<Producer>(message + 2);
  if (++ahead.at == kSectionMessages) publish(partition, false);
  return true;
}

/// The next section of a queue, when it has been consumed.
void Producer::begin(unsigned partition, Op op) {
  Ahead& ahead = ahead_[partition];
  SectionQueue& queue = *queues_[partition];
  while (ahead.number - static_cast<std::uint32_t>(queue.consumed.load(std::memory_order_acquire)) >= kSections) {
    std::this_thread::yield();
  }
  ahead.section = &queue.sections[ahead.number % kSections];
  ahead.section->op = op;
  ahead.section->with = with_;
  ahead.at = 0;
}

void Producer::publish(unsigned partition, bool flush) {
  Ahead& ahead = ahead_[partition];
  HOLDFAST_ASSERT(ahead.section != nullptr && ahead.at <= kSectionMessages);
  ahead.section->size = ahead.at;
  ahead.section->flush = flush;
  ++ahead.number;
  queues_[partition]->published.fetch_add(1, std::memory_order_release);
  ahead.section = nullptr;
}

void Producer::flush() {
  for (unsigned p = 0; p < ahead_.size(); ++p) {
    if (ahead_[p].section == nullptr) begin(p, Op::insert_or_assign);
    publish(p, true);
    ++flushes_[p];
  }
  for (unsigned p = 0; p < ahead_.size(); ++p) {
    while (queues_[p]->flushed.load(std::memory_order_acquire) != flushes_[p]) std::this_thread::yield();
  }
}

Delegation::Delegation(const Engine& engine, Core& core, unsigned depth) : core_(core) {
  const unsigned partitions = core.format().partitions;
  seen_.resize(partitions, 0);
  for (unsigned p = 0; p < partitions; ++p) {
    owners_.push_back(std::make_unique<Owner>());
    owners_[p]->lane = engine.owner_lane(core, depth);
  }
  const std::string why = threads_.start_numbered(partitions, [this](unsigned partition) { serve(partition); });
  if (why.empty()) return;
  const unsigned started = threads_.started();
  stop();
  throw SystemError("partitions is " + std::to_string(partitions) + ", and the system started only " +
                    std::to_string(started) + " threads for them (" + why +
                    "): give fewer, or raise the limit of threads or of memory");
}

Delegation::~Delegation() { stop(); }

void Delegation::must_be_here() const {
  if (is_here()) return;
  throw ObjectClosed(
      "this partitioned table in memory was inherited by a forked child, which can only read it, since the threads "
      "that change it stayed with the parent: make a table here, or one without partitions before the fork");
}

void Delegation::stop() {
  stop_ = true;
  {
    const std::lock_guard lock(mutex_);
    ++producers_changed_;
  }
  jobs_.notify_all();
  threads_.join();
}

std::uint64_t Delegation::refused() const {
  std::uint64_t refused = 0;
  for (const auto& owner : owners_) refused += owner->refused.load(std::memory_order_relaxed);
  return refused;
}

void Delegation::join(Producer& producer) {
  const std::lock_guard lock(mutex_);
  for (const auto& owner : owners_) owner->spare.reserve(producers_.size() + 1);
  producers_.push_back(&producer);
  ++producers_changed_;
  jobs_.notify_all();
}

void Delegation::leave(Producer& producer) {
  std::unique_lock lock(mutex_);
  std::erase(producers_, &producer);
  const std::uint64_t change = ++producers_changed_;
  jobs_.notify_all();
  // Until no partition looks at its queues any more.
  jobs_.wait(lock, [&] { return std::all_of(seen_.begin(), seen_.end(), [&](auto seen) { return seen >= change; }); });
}

void Delegation::run(const std::function<void(unsigned, Lane&)>& job) {
  must_be_here();
  const std::lock_guard alone(running_);
  std::unique_lock lock(mutex_);
  HOLDFAST_ASSERT(left_ == 0);
  job_ = &job;
  left_ = partitions();
  for (const auto& owner : owners_) owner->has_job.store(true, std::memory_order_release);
  jobs_.notify_all();
  jobs_.wait(lock, [&] { return left_ == 0; });
}

void Delegation::serve(unsigned partition) {
  Owner& owner = *owners_[partition];
  std::vector<Behind> queues;
  std::uint64_t changes = 0;
  for (unsigned idle = 0; !stop_.load(std::memory_order_relaxed);) {
    if (changes != producers_changed_.load(std::memory_order_acquire)) {
      const std::lock_guard lock(mutex_);
      changes = producers_changed_.load(std::memory_order_relaxed);
      if (queues.capacity() < producers_.size()) queues.swap(owner.spare);
      queues.clear();
      for (Producer* const producer : producers_) {
        SectionQueue* const queue = producer->queues_[partition].get();
        queues.push_back({queue, queue->consumed.load(std::memory_order_relaxed)});
      }
      seen_[partition] = changes;
      jobs_.notify_all();
    }
    if (owner.has_job.load(std::memory_order_acquire)) {
      for (unsigned i = 0; i < kSections && consume(partition, queues); ++i) continue;  // what came before
      owner.has_job = false;
      (*job_)(partition, *owner.lane);
      look_at_fill(owner);
      const std::lock_guard lock(mutex_);
      if (--left_ == 0) jobs_.notify_all();
    }
    if (consume(partition, queues)) {
      idle = 0;
    } else if (++idle % kIdleRounds == 0) {
      Results nowhere;
      owner.lane->flush(nowhere);
      owner.refused += nowhere.count[static_cast<unsigned>(Status::no_space)];
      if (!queues.empty()) {
        if (idle < kLongIdle) {
          std::this_thread::yield();
        } else {
          std::this_thread::sleep_for(kNap);
        }
        continue;
      }
      std::unique_lock lock(mutex_);  // no messages: sleep
      jobs_.wait(lock, [&] { return stop_ || owner.has_job || changes != producers_changed_; });
    }
  }
}

/// Takes a section of each queue that has one. False: none had.
bool Delegation::consume(unsigned partition, std::vector<Behind>& queues) {
  bool found = false;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const Behind& next = queues[(i + 1) % queues.size()];
    prefetch<Delegation>(&next.queue->published);
    prefetch<Delegation>(next.queue->sections + next.number % kSections);
    Behind& from = queues[i];
    if (from.queue->published.load(std::memory_order_acquire) == from.number) continue;
    take(partition, from);
    found = true;
  }
  return found;
}

void Delegation::look_at_fill(Owner& owner) {
  const auto slots = static_cast<std::int64_t>(core_.view_now()->geometry.lines() / owners_.size() * kSlots);
  owner.full.store(owner.lane->items() * 100 > slots * kFullPercent, std::memory_order_relaxed);
}

void Delegation::take(unsigned partition, Behind& from) {
  Owner& owner = *owners_[partition];
  const Section& section = from.queue->sections[from.number % kSections];
  Rows rows;
  HOLDFAST_ASSERT(section.size <= kSectionMessages);
  rows.hashes = section.messages;
  rows.end = section.size;
  rows.op = section.op;
  rows.with = section.with;
  rows.silent = true;
  Results nowhere;
  owner.lane->submit(rows, nowhere);
  const bool flush = section.flush;
  if (flush) owner.lane->flush(nowhere);
  owner.refused += nowhere.count[static_cast<unsigned>(Status::no_space)];
  look_at_fill(owner);
  from.queue->consumed.store(++from.number, std::memory_order_release);
  if (flush) from.queue->flushed.fetch_add(1, std::memory_order_release);
}

}  // namespace holdfast::dramhit
