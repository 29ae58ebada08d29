// shared.hpp: what the children of the subject checkpoint share with its oracle: what to do, a journal, and what was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "proof/kill/calls.hpp"

namespace holdfast::proof::kill {

inline constexpr unsigned kCheckpointEntries = 4096;
inline constexpr const char* kCheckpointName = "model";

/// What one call is about. The first is Pool::create, the last no call. A save lasts until its ticket is waited for.
enum class CheckpointCall : std::uint32_t { making, create, save, none, count };
inline constexpr auto kCheckpointCalls = static_cast<unsigned>(CheckpointCall::count);
inline constexpr const char* kCheckpointCallNames[kCheckpointCalls] = {"making", "create", "save", "between"};

/// A pool and how it is used; fixed for all its lives. Plain data: it lies in shared memory.
struct CheckpointRound {
  std::uint64_t seed;
  std::uint32_t copies;
  bool flush;  ///< run the protocol of domain `power`
  bool gpu;    ///< some tensors are in GPU memory
};
CheckpointRound make_checkpoint_round(std::uint64_t seed, bool gpu);

/// A state, derived from its step.
class StateOf {
 public:
  StateOf(const CheckpointRound& round, std::uint64_t step);
  StateOf(const StateOf&) = delete;
  StateOf& operator=(const StateOf&) = delete;
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const std::string& text() const { return text_; }
  /// What is wrong with a state that was restored; empty: nothing.
  std::string flaw_in(const SavedState& saved) const;

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint8_t> bytes_;
  std::vector<TensorView> tensors_;
  std::string text_;
};

struct CheckpointEntry {
  CheckpointCall call;
  std::uint32_t number;        ///< of the new object
  std::uint64_t step;          ///< no other save of the pool has it
  std::uint32_t acknowledged;  ///< written last, when the object is made, or the ticket was waited for
};

struct FoundCopy {
  std::uint64_t step;
  char flaw[128];  ///< empty: the state is that of its step
};

/// Everything found in the pool by a child that reopened it.
struct CheckpointFound {
  std::uint32_t objects, number;  ///< the number of the checkpoint; 0: there is none
  std::uint32_t copies, count;    ///< that it has; that count, newest first below
  std::uint32_t has_newest;       ///< `restore` gave a state
  FoundCopy newest;               ///< what it gave
  char damage[256];               ///< what it said that it passed over
  FoundCopy list[8];
};

struct CheckpointShared {
  CheckpointRound round;
  CallState calls;
  CheckpointFound found;
  CheckpointEntry entries[kCheckpointEntries];
};

}  // namespace holdfast::proof::kill
