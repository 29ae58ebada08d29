// key_directory.cuh: keys that searches have found to have a copy of their value, so that others need not look for their slots: where some
// buckets have no copy, that saves a read over the link (structures/gphash/protocol/key_directory.hpp has the protocol).
//
// A record for each position of the value cache says of which key the copy is. Hints, in sets of four by the hash of the key, say which
// records to ask. A hint is never more than that: one that is lost or wrong costs a look into the slot, which writes it anew.
#pragma once

#include <cuda/atomic>

#include <cstdint>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/directory/records.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/rows.cuh"
#include "structures/gphash/protocol/key_directory.hpp"

namespace holdfast::gphash::cuda {

/// What the records say of a key.
struct Asked {
  std::uint64_t position = kNoPosition;  ///< that is noted, or known, to be of this key
  bool known = false;                    ///< a search may answer with it
  bool confirms = false;                 ///< a search that finds this copy for the key's cell may say that it is known
};

template <class Shape>
class KeyDirectory {
 public:
  __device__ KeyDirectory(const CopyMemory& memory, const View<Shape>& view, const CacheView& cache, const FindJob& job)
      : memory_(memory),
        view_(view),
        values_(cache.values),
        job_(job),
        asks_(cache.values.directory.any() && cache.partial() && job.rows.scores == nullptr) {}

  /// Before a look for the slot of a row's key.
  __device__ Asked ask(std::uint64_t row) const {
    const gphash::Key key = key_of(row);
    Asked asked = ask_directory(row, key);
    if (asked.position != kNoPosition && !asked.known)
      asked.confirms = gphash::may_confirm(memory_, Candidates<Shape>(view_, key).version_lock(view_));
    return asked;
  }
  /// The same for who will not confirm anything.
  __device__ Asked ask_directory(std::uint64_t row) const { return ask_directory(row, key_of(row)); }

  /// The answers of a row whose key is known, but for the value. Returns where its copy is; kNoPosition: it is not wanted.
  __device__ std::uint64_t answer(std::uint64_t row, const Asked& asked) {
    answer_row(view_, job_, row, Status::found, Wanted::kNothing);
    if (!wants_value(view_, job_)) return kNoPosition;
    // The cell's number, by which the policy counts, is read for some rows alone.
    if (is_sampled(values_, row)) {
      const std::uint64_t cell = memory_.load_value(values_.owners + asked.position);
      if (cell != kNoPosition) warm(values_, cell);
    }
    ++hits_;
    return asked.position;
  }

  /// When that look has found the cell of an item.
  __device__ void learn(std::uint64_t row, const Asked& asked, std::uint64_t cell) const {
    if (!asks_ || asked.known) return;
    const std::uint64_t position = copy_of_cell(memory_, values_, cell);
    if (position == kNoPosition) return;
    std::uint64_t* const state = record(position);
    if (asked.position == position) {
      if (asked.confirms) gphash::confirm_key(memory_, state);
      return;
    }
    const gphash::Key key = key_of(row);
    gphash::note_key(memory_, state, [&] {
      for (unsigned i = 0; i < view_.key_words(); ++i)
        DeviceWord(state[1 + i]).store(key_word(key, row, i), ::cuda::memory_order_relaxed);
    });
    if (memory_.peek(state) >= gphash::kNoted) put_hint(set_of(key), position);
  }

  /// Adds the hits of a block to the table's. All its threads call, once.
  __device__ void flush_counts() const {
    if (asks_) add_of_block(values_.state->directory_hits, hits_);
  }

 private:
  __device__ Asked ask_directory(std::uint64_t row, const gphash::Key& key) const {
    Asked asked;
    if (!asks_) return asked;
    std::uint32_t hints[kHintsOfSet];
    load_set(set_of(key), hints);
#pragma unroll
    for (const std::uint32_t hint : hints) {
      if (hint == 0 || asked.position != kNoPosition) continue;
      const std::uint64_t state = state_if_of(hint - 1, key, row);
      if (state < gphash::kNoted) continue;
      asked.position = hint - 1;
      asked.known = state == gphash::kKnown;
    }
    return asked;
  }
  __device__ gphash::Key key_of(std::uint64_t row) const {
    return gphash::given_key<CudaMemory>(view_, job_.keys + row * view_.key_bytes());
  }
  __device__ std::uint64_t key_word(const gphash::Key& key, std::uint64_t row, unsigned i) const {
    if (!view_.wide()) return key.word;
    return CudaMemory::given_word(job_.keys + row * view_.key_bytes() + 8 * i);
  }
  __device__ std::uint64_t* record(std::uint64_t position) const { return values_.directory.record(position); }
  __device__ std::uint32_t* set_of(const gphash::Key& key) const {
    const std::uint64_t hash = view_.wide() ? key.word : hash_key(key.word, view_.seed);
    return values_.directory.hints + kHintsOfSet * (hash & values_.directory.last_set);
  }
  __device__ void load_set(const std::uint32_t* set, std::uint32_t (&hints)[kHintsOfSet]) const {
    const ulonglong2 all = memory_.load_values(reinterpret_cast<const std::uint64_t*>(set));
    hints[0] = static_cast<std::uint32_t>(all.x);
    hints[1] = static_cast<std::uint32_t>(all.x >> 32);
    hints[2] = static_cast<std::uint32_t>(all.y);
    hints[3] = static_cast<std::uint32_t>(all.y >> 32);
  }

  /// The state of a position whose record is of this key; else `gone`.
  __device__ std::uint64_t state_if_of(std::uint64_t position, const gphash::Key& key, std::uint64_t row) const {
    const std::uint64_t* const at = record(position);
    if (!view_.wide()) {  // both words as they were at one moment
      std::uint64_t state, word;
      asm volatile("{\n\t.reg .b128 both;\n\tld.acquire.gpu.b128 both, [%2];\n\tmov.b128 {%0, %1}, both;\n\t}"
                   : "=l"(state), "=l"(word)
                   : "l"(at)
                   : "memory");
      return word == key.word ? state : std::uint64_t{gphash::kGone};
    }
    const std::uint64_t state = memory_.peek(at);
    bool same = state >= gphash::kNoted;
    for (unsigned i = 0; same && i < view_.key_words(); ++i)
      same = memory_.load_value(at + 1 + i) == key_word(key, row, i);
    return same ? state : std::uint64_t{gphash::kGone};
  }

  /// In the place of one that says nothing; where all say something, of any.
  __device__ void put_hint(std::uint32_t* set, std::uint64_t position) const {
    const auto mine = static_cast<std::uint32_t>(position + 1);
    std::uint32_t hints[kHintsOfSet];
    load_set(set, hints);
    unsigned place = mine % kHintsOfSet;
    bool free = false;
#pragma unroll
    for (unsigned i = 0; i < kHintsOfSet; ++i) {
      if (hints[i] == mine) return;
      if (free || (hints[i] != 0 && memory_.peek(record(hints[i] - 1)) >= gphash::kNoted)) continue;
      place = i;
      free = true;
    }
    DeviceHalf(set[place]).store(mine, ::cuda::memory_order_relaxed);
  }

  const CopyMemory& memory_;
  const View<Shape>& view_;
  const ValueView& values_;
  const FindJob& job_;
  const bool asks_;
  unsigned hits_ = 0;
};

}  // namespace holdfast::gphash::cuda
