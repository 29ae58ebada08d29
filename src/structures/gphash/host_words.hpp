// host_words.hpp: what memory policies that run on the host say of several words, by their own load and store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/failpoint.hpp"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::gphash {

/// Words that do not change now: earlier writes of other threads are visible.
struct Still {
  static std::uint64_t load(const std::uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
};
static_assert(pool::ReadableMemory<Still>);

/// The base of a policy `Memory`.
template <class Memory>
class HostWords {
 public:
  /// A word of an operation's array, which may lie anywhere.
  static std::uint64_t given_word(const std::byte* from) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
  }
  /// A word that does not change now.
  std::uint64_t load_still(const std::uint64_t* word) const { return self().load(word); }
  /// True if the `count` words of a slot's wide key are those of the candidates' key.
  template <class Candidates>
  bool same_words(const std::uint64_t* words, const Candidates& candidates, unsigned count) const {
    for (unsigned i = 0; i < count; ++i) {
      if (self().load(words + i) != candidates.key_word(self(), i)) return false;
    }
    return true;
  }
  /// `count` words of an empty slot, which another word makes count later; word(i) gives them.
  template <class Word>
  void store_words(std::uint64_t* to, unsigned count, const Word& word) const {
    for (unsigned i = 0; i < count; ++i) {
      self().store(to + i, word(i));
      HOLDFAST_FAILPOINT(wide_key_half_written);
    }
  }

 private:
  friend Memory;
  HostWords() = default;
  const Memory& self() const { return static_cast<const Memory&>(*this); }
};

}  // namespace holdfast::gphash
