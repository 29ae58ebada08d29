// core.hpp: the table's current lines, who uses them, and their growth.
//
// A view is one array of lines. It grows as growt does (Maier, Sanders, Dementiev 2019): changes stop at frozen slots, and their
// callers move the lines, block by block, into a new view; then all continue there. Reads never stop: until the new view is
// current nothing changes, so what the old one says stands. A view is freed when no member is in a call that began with it.
//
//   enter   a member says which view it uses; asks again whether it is current
//   freeze  each slot of a line, one by one: a swap of its owner comes before or fails
//   move    the line's live slots into the new view
//   publish when all blocks are moved; members find out at their next call, and look for their keys anew
//   leave   each member that was in the old view; then it is freed
//
// While the process forks no view is the current one: who would enter waits, and the fork waits for those that are in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "structures/dramhit/pages.hpp"
#include "structures/dramhit/word.hpp"

namespace holdfast::dramhit {

/// What a table's items look like.
struct Format {
  std::uint32_t key_bytes = 8, value_bytes = 8;
  std::uint32_t partitions = 1;  ///< of lines, each with a few more behind it, so that no search leaves it
  bool wide() const { return key_bytes > 8 || value_bytes > 8; }
  /// Of what a search begins at: a line of four slots, or one record (wide.hpp).
  std::uint64_t line_bytes() const;
  std::uint64_t items_a_line() const;
};

/// One array of lines. A few more than are addressed, so that no search wraps around.
struct View {
  View(const Format& format, std::uint64_t lines, std::uint64_t seed, const MemoryChoice& choice, std::uint64_t number);
  std::uint64_t all_lines() const { return geometry.lines() + partitions * kMostDistance; }
  /// Where the line is of which `geometry` says that a search for this hash begins there.
  std::uint64_t at(std::uint64_t line, std::uint64_t hash) const {
    return line + high(hash, partitions) * kMostDistance;
  }
  std::byte* line(std::uint64_t i) const { return memory.data() + i * line_bytes; }

  Geometry geometry;
  std::uint32_t key_bytes, value_bytes, partitions;
  std::uint64_t line_bytes;
  std::uint64_t number;     ///< of the table's views, from 1 on
  std::int64_t most_items;  ///< then it is as full as it should get
  Pages memory;
};

/// One thread's part in a table.
struct alignas(64) Member {
  std::atomic<const View*> in{nullptr};   ///< the view that its call uses
  std::atomic<std::int64_t> items{0};     ///< it added less those it erased; only its own thread changes it
  std::atomic<std::int64_t> reported{0};  ///< of `items`, to Core::roughly_
  std::atomic<std::uint64_t> operations{0}, lines{0};  ///< answered, and lines looked at for them
};

/// Moves lines of one format, compiled for one instruction set.
class Mover {
 public:
  virtual ~Mover() = default;
  /// Freezes lines [begin, end) and moves their items; false: one found no slot. `to` null: drops them. Adds to `items`.
  virtual bool move(const View& from, const View* to, std::uint64_t begin, std::uint64_t end,
                    std::uint64_t& items) const = 0;
  /// Undoes the freezing of lines [begin, end).
  virtual void thaw(const View& view, std::uint64_t begin, std::uint64_t end) const = 0;
};

class Core {
 public:
  Core(const Format& format, std::uint64_t capacity, std::uint64_t seed, const MemoryChoice& choice, bool grows,
       const Mover& mover);

  const Format& format() const { return format_; }
  std::uint64_t seed() const { return seed_; }

  void join(Member& member);
  void leave_for_good(Member& member);
  /// Begins a call. Until `leave` the view stays. Waits while the process forks.
  const View* enter(Member& member) const;
  void leave(Member& member) const { member.in.store(nullptr, std::memory_order_release); }

  /// The member's count has changed.
  void count(Member& member, std::int64_t change) {
    const std::int64_t items = member.items.load(std::memory_order_relaxed) + change;
    member.items.store(items, std::memory_order_relaxed);
    const std::int64_t unreported = items - member.reported.load(std::memory_order_relaxed);
    if (unreported >= kReportAfter || -unreported >= kReportAfter) report(member, items);
  }
  /// True if `view` is as full as it should get.
  bool is_full(const View& view) const { return grows_ && roughly_.load(std::memory_order_relaxed) > view.most_items; }

  /// Joins in growing `view`, in which the member is; returns when another is current, where the member is in none. Gives at
  /// least so many lines; 0: twice as many, or as many if little of it is live. False: there is no memory, or it may not
  /// grow; nothing has changed.
  bool grow(Member& member, const View* view, std::uint64_t lines = 0) {
    return change_view(member, view, lines, false) != Change::none;
  }
  /// Drops all items.
  void clear();
  void reserve(std::uint64_t items);

  std::uint64_t size() const;
  std::uint64_t lines_for(std::uint64_t items) const;
  std::uint64_t slots() const;
  /// Where nothing else can make another the current one.
  const View* view_now() const { return view_.get(); }
  /// Returns when no call runs, and no growth; none begins until `go_on`. Both around a fork, by the thread that forks.
  void stand_still();
  void go_on(bool in_child);
  /// Fills in what the core knows.
  void figures(MemoryStats& stats) const;

 private:
  struct Move {
    const View* from = nullptr;
    std::unique_ptr<View> to;
    bool drops = false;
    std::atomic<std::uint64_t> next{0}, done{0}, items{0};
    std::atomic<bool> failed{false};
    bool over = false, lost = false;  ///< under mutex_; lost: the old view stays
  };
  static constexpr std::int64_t kReportAfter = 256;

  void report(Member& member, std::int64_t items);
  enum class Change : std::uint8_t { none, joined, began };
  Change change_view(Member& member, const View* view, std::uint64_t lines, bool drops);
  std::shared_ptr<Move> begin_move(const View* from, std::uint64_t lines, bool drops) noexcept;
  void work(Move& move);
  void begin_anew(Move& move);
  void end_move(const Member& member, const std::shared_ptr<Move>& move);
  void wait_for_readers(const Member* but, const View* of) const;
  bool is_used(const Member* but, const View* of) const;

  const Format format_;
  const std::uint64_t seed_;
  const MemoryChoice choice_;
  const bool grows_;
  const Mover& mover_;
  bool asymmetric_ = false;  ///< the kernel makes others' stores visible on demand (membarrier)
  std::unique_ptr<View> view_;
  std::atomic<const View*> current_{nullptr};
  std::atomic<std::int64_t> roughly_{0};
  std::atomic<std::uint64_t> growths_{0};
  mutable std::mutex mutex_;  ///< over what follows; held while the process forks
  std::condition_variable over_;
  std::shared_ptr<Move> move_;
  bool retiring_ = false;  ///< an old view still waits for its readers
  std::vector<Member*> members_;
  std::int64_t others_items_ = 0;  ///< of members that left; less what was dropped
  std::uint64_t others_operations_ = 0, others_lines_ = 0;
  std::uint64_t views_ = 0;  ///< made so far
};

/// A thread's part in a table for one call. Not on the thread's stack: where the process forks meanwhile, the child has the
/// member in its list, and uses that stack for something else.
class Guest {
 public:
  explicit Guest(Core& core) : core_(core), member_(std::make_unique<Member>()) { core.join(*member_); }
  ~Guest() {
    core_.leave(*member_);
    core_.leave_for_good(*member_);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  Member& operator*() const { return *member_; }

 private:
  Core& core_;
  const std::unique_ptr<Member> member_;
};

}  // namespace holdfast::dramhit
