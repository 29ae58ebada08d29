// under_way.hpp: batches of any kind in two steps, so that one thread has several indexes execute theirs at the same time.
#pragma once

#include <cstdint>
#include <span>

#include "structures/cuckoo/index.hpp"

namespace holdfast::cuckoo {

/// The arrays of a batch. Those that its kind does not have are empty.
struct AnyBatch {
  enum class Kind : std::uint8_t { search, candidates, exchange, erase };

  Kind kind = Kind::search;
  std::span<const Hash> hashes;
  std::span<const Location> old = {}, locations = {};
  std::span<Location> found = {};
  std::span<Candidates> lists = {};
  std::span<Outcome> outcomes = {};
};

/// Throws InvalidArgument where an array of the batch's kind has not an element per row, or a location means none.
void require_batch(const AnyBatch& batch);

/// A batch that was begun, with arrays that stay until it is destroyed. It is finished, or destroyed, before its index.
class UnderWay {
 public:
  UnderWay() = default;
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  virtual ~UnderWay() = default;
  /// Waits, and throws what the member of the index would.
  virtual void finish() = 0;
};

template <class I>
void execute(I& index, const AnyBatch& batch) {
  switch (batch.kind) {
    case AnyBatch::Kind::search: return index.search(batch.hashes, batch.found);
    case AnyBatch::Kind::candidates: return index.candidates(batch.hashes, batch.lists);
    case AnyBatch::Kind::exchange: return index.exchange(batch.hashes, batch.old, batch.locations, batch.outcomes);
    case AnyBatch::Kind::erase: return index.erase(batch.hashes, batch.locations, batch.outcomes);
  }
}

/// Of an index that executes on its caller's thread: at `finish`.
template <class I>
class ExecutedLater final : public UnderWay {
 public:
  ExecutedLater(I& index, const AnyBatch& batch) : index_(index), batch_(batch) {}
  void finish() override { execute(index_, batch_); }

 private:
  I& index_;
  const AnyBatch batch_;
};

}  // namespace holdfast::cuckoo
