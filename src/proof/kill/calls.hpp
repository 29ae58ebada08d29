// calls.hpp: for subjects whose writer makes calls of several kinds, some of which stop at a failpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proof/kill/subject.hpp"

namespace holdfast::proof::kill {

/// What the writer is to do about failpoints, and how far it is. Part of what the subject shares with its children.
struct CallState {
  std::uint32_t stop_at;              ///< a Failpoint, armed while a call of the kind `stop_in` runs; 0: none
  std::uint32_t stop_in;              ///< a kind of call; the last one, which is none, if the writer is to stop nowhere
  std::uint32_t stop_from;            ///< from this call on
  std::atomic<std::uint32_t> inside;  ///< calls that run
  std::atomic<std::uint32_t> full;    ///< the journal is full; the writer waits for its end
  std::atomic<std::uint32_t> begun;   ///< calls; a journal's entry counts from then on

  bool stops() const { return stop_at != 0 && begun.load() >= stop_from; }
  /// Makes a call of that kind, with its failpoint armed.
  template <class Call>
  void run(Shared& shared, std::uint32_t kind, const Call& call) {
    const bool armed = stops() && stop_in == kind;
    if (armed) arm(shared, stop_at);
    inside.fetch_add(1, std::memory_order_release);
    call();
    inside.fetch_sub(1, std::memory_order_release);
    if (armed) arm(shared, 0);
  }

 private:
  static void arm(Shared& shared, std::uint32_t at) {
    std::atomic_ref(shared.failpoints.armed).store(at, std::memory_order_release);
  }
};

/// Their common base. Of the kinds of calls the first is the pool's creation, and the last no call.
class SubjectOfCalls : public Subject {
 public:
  /// `stops`: each failpoint, in each call that passes it.
  SubjectOfCalls(const Options& options, Shared& shared, CallState& calls, std::span<const char* const> kinds,
                 std::span<const Stop> stops);

  std::span<const char* const> kinds() const override { return kinds_; }
  void end_pool() override {}
  std::vector<Stop> stops(bool exists) const override;
  void begin_life(const Stop& stop, Random& random) override;
  bool is_inside() const override { return calls_.inside.load(std::memory_order_acquire) != 0; }
  bool is_full() const override { return calls_.full.load(std::memory_order_acquire) != 0; }
  unsigned kind() const override { return kind_; }

 protected:
  /// From which call on a writer stops.
  virtual std::uint64_t first_stop(Random& random) const = 0;
  /// The life ended while a call of that kind ran, if the pool was made.
  void ended_in(std::uint32_t kind) { kind_ = shared_.writing.load() == 2 ? kind : 0; }
  std::string kind_name() const { return kinds_[kind_]; }
  /// A line for each stop at which no writer did.
  std::string never_stopped(const KillCounts& counts) const;

 private:
  CallState& calls_;
  std::span<const char* const> kinds_;
  std::span<const Stop> stops_;
  unsigned kind_ = 0;
};

}  // namespace holdfast::proof::kill
