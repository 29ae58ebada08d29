// exports.hpp: exports under way: how far each has come, and which items moved past it meanwhile.
//
// An export walks the slots in order, a piece at a time; nothing changes during a piece. Between two pieces an item can move
// from a slot that the export has read to one that it has not, or the other way. So the backend reports every move, and the
// export counts for each key how often it moved ahead of it, less how often behind it: a key ahead of it again is left out
// when it is met, and one that fell behind is looked up at the end. Where items move without a report, in a resize or in
// a kernel, the keys that are left are listed before, and the rest of the export looks them up one by one. So a key that is
// there throughout appears exactly once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "structures/gphash/layout.hpp"
#include "structures/gphash/move_log.hpp"

namespace holdfast::gphash {

/// Thread-safe. The caller of a function that reads slots (`copy`, `list_rest`) excludes every change.
class Exports {
 public:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  static constexpr unsigned kMost =
      16;  ///< under way at once; the one that was longest unused is forgotten for a new one

  /// An item, as it lies in the pool.
  struct Taken {
    gphash::Part key, value;
    std::uint64_t score = 0;  ///< where the table keeps one
  };
  using Take = std::function<void(const Taken& item)>;
  /// Into arrays, of those that are not null.
  static Take into(const ExportArrays& to);
  /// The same `take`, which throws PoolCorrupt for a pair of any length that is not as it was written, if `verify` says so.
  static Take verified(const std::string& path, bool verify, const Take& take);
  /// Copies up to `n` pairs of any length, those that `copy(take)` takes and counts, into what is not null. Returns how many.
  static std::size_t pairs_into(Blobs* keys, Blobs* values, std::size_t n,
                                const std::function<std::size_t(const Take& take)>& copy);

  /// Gives `take` items from `cursor` on until it had `n` or `slots` slots were looked at, and advances the cursor, at the end to
  /// kEnd. A cursor without an export's number begins one at its position: 0 at the first slot. Returns how many.
  /// Throws InvalidArgument if the export was forgotten, or continued with another cursor.
  std::size_t copy(const Layout& layout, std::uint64_t& cursor, const Take& take, std::size_t n, std::uint64_t slots);
  /// Forgets an export before its end.
  void end(std::uint64_t cursor);

  /// True if moves must be reported. Does not change while a change runs.
  bool want_moves() const { return walking_.load() != 0; }
  // Without memory for it these two forget the exports that it is about, which say so when they continue.
  /// Items that moved since the last piece of any export. Several threads may report theirs, in any order.
  void note(const Layout& layout, const MoveLog& log) noexcept;
  /// Call it before items move without a report: lists the remaining keys.
  void list_rest(const Layout& layout) noexcept;

 private:
  struct Export {
    std::uint64_t id = 0;
    std::uint64_t cursor = 0;  ///< what the call before returned
    bool listed = false;
    std::uint64_t position = 0;                  ///< of slots, or, `listed`, of bytes in `rest`
    std::unordered_map<std::string, int> ahead;  ///< how often a key moved ahead of it, less how often behind
    std::vector<std::byte> rest;                 ///< keys; those of variable length each behind its length
  };

  Export& resume(std::uint64_t cursor);
  Export& begin(std::uint64_t position);
  void forget(std::deque<Export>::iterator which);
  void forget_walking();
  void add_moves(const Layout& layout, const MoveLog& log);
  template <class Shape>
  void list_all(const Layout& layout);
  template <class Shape>
  std::size_t copy_piece(const Layout& layout, Export& one, std::uint64_t& cursor, const Take& take, std::size_t n,
                         std::uint64_t slots);
  static bool is_new(Export& one, const gphash::Part& key);
  template <class Shape>
  static void list_fallen_behind(Export& one);
  template <class Shape>
  static std::size_t copy_slots(const Layout& layout, Export& one, const Take& take, std::size_t n,
                                std::uint64_t slots);
  template <class Shape>
  static std::size_t copy_listed(const Layout& layout, Export& one, const Take& take, std::size_t n,
                                 std::uint64_t most);

  std::mutex mutex_;
  std::deque<Export> exports_;  ///< the one that was used last at the end
  std::uint64_t begun_ = 0;
  std::atomic<unsigned> walking_{0};  ///< exports that are not listed
};

}  // namespace holdfast::gphash
