// shared.hpp: what the children of the subject snapshot share with its oracle. One thread changes a table and a checkpoint, another a
// region and a log, in steps, and takes snapshots; a third one changes a store, also while it is copied. All contents are derived from the step that wrote them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "kill/checkpoint/shared.hpp"
#include "proof/kill/calls.hpp"
#include "proof/runs/random.hpp"

namespace holdfast::proof::kill {

inline constexpr std::uint64_t kWholeKeys = 256, kWholeWords = 512;
inline constexpr std::uint32_t kWholeEntries = 8;  ///< that the log holds

enum class WholeCall : std::uint32_t { making, batch, save, write, insert, store, snapshot, none, count };
inline constexpr const char* kWholeCallNames[] = {"making", "batch", "save",     "write",
                                                  "insert", "store", "snapshot", "between"};

using WholeValue = std::array<std::uint64_t, 8>;
using WholeEntry = std::array<std::uint64_t, 8>;
/// Batch `step` erases a quarter of the keys, and assigns the others these values.
inline bool is_erased(std::uint64_t step, std::uint64_t key) { return mix(step, ~key) % 4 == 0; }
template <class Words>
Words words_of(std::uint64_t step, std::uint64_t key) {
  Words words;
  for (std::size_t k = 0; k < words.size(); ++k) words[k] = mix(mix(step, key), k);
  return words;
}
/// What find gives of that key after that batch; 0: nothing.
inline std::uint64_t item_after(std::uint64_t step, std::uint64_t key) {
  const auto value = words_of<WholeValue>(step, key);
  return is_erased(step, key) ? 0 : digest(value.data(), sizeof value);
}

/// The same of the store, in which each step sets all keys.
inline WholeValue stored_at(std::uint64_t step, std::uint64_t key) { return words_of<WholeValue>(~step, key); }
inline std::uint64_t stored_after(std::uint64_t step, std::uint64_t key) {
  const auto value = stored_at(step, key);
  return digest(value.data(), sizeof value);
}

/// The steps that wrote one object in this life; 0: none.
struct Steps {
  std::atomic<std::uint64_t> begun, done;
};

/// What a snapshot may hold.
struct Cut {
  std::uint64_t written, first_entry;  ///< the step of the region; the log has the entries from the one to the other
  /// That had been acknowledged before it, and had begun when it ended.
  std::uint64_t batch_from, batch_to, save_from, save_to, store_from, store_to;
};

/// Everything found in a pool.
struct FoundWhole {
  std::uint32_t opens;    ///< it is there, and was opened
  std::uint32_t objects;  ///< table, log, region, checkpoint, store, in this order
  std::uint32_t damaged;
  std::uint64_t size, items[kWholeKeys];  ///< digests
  std::uint64_t stored[kWholeKeys];       ///< the same of the store
  std::uint64_t words[kWholeWords];
  std::uint32_t entries;
  std::uint64_t entry[kWholeEntries];  ///< digests, oldest first
  std::uint64_t saved;                 ///< the step of the newest state; 0: none
  char saved_flaw[128];
  char errors[1024];
};

struct WholeShared {
  CheckpointRound round;  ///< of its states
  CallState calls;
  std::atomic<std::uint32_t> made;  ///< objects that are there
  Steps batch, save, write, insert, store;
  /// The step before which the log is or was cleared; and before the clear that runs
  std::atomic<std::uint64_t> clearing, first_entry, first_before;
  std::atomic<std::uint64_t> cutting, cut;  ///< snapshots begun, and acknowledged
  Cut cuts[2];                              ///< of the snapshots n and n + 1, by turns
  FoundWhole pool, restored;
};

}  // namespace holdfast::proof::kill
