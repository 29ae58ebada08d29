// searching.hpp: batches of searches in two steps, between which their caller does other things.
#pragma once

#include <span>
#include <vector>

#include "structures/cuckoo/entry.hpp"

namespace holdfast::cuckoo {

/// For one thread at a time. When its index has ended it can be destroyed, and nothing else.
class Searching {
 public:
  Searching() = default;
  Searching(const Searching&) = delete;
  Searching& operator=(const Searching&) = delete;
  virtual ~Searching() = default;
  /// Begins a batch, whose hashes are copied. `finish` goes before the next one.
  virtual void begin(std::span<const Hash> hashes) = 0;
  /// Waits, and gives each row what `search` would.
  virtual void finish(std::span<Location> locations) = 0;
};

/// Of an index that searches on its caller's thread: at `finish`.
template <class I>
class SearchingLater final : public Searching {
 public:
  explicit SearchingLater(const I& index) : index_(index) {}
  void begin(std::span<const Hash> hashes) override { hashes_.assign(hashes.begin(), hashes.end()); }
  void finish(std::span<Location> locations) override { index_.search(hashes_, locations); }

 private:
  const I& index_;
  std::vector<Hash> hashes_;
};

}  // namespace holdfast::cuckoo
