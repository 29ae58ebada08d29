// exports.cpp: pieces of exports, read from slots that stand still.
#include "structures/gphash/exports.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "core/bits.hpp"
#include "structures/gphash/host_words.hpp"
#include "structures/gphash/pair_check.hpp"
#include "structures/gphash/protocol/address.hpp"

namespace holdfast::gphash {

namespace {

// A cursor: the position below, then the export's number, then whether its keys are listed. All ones is the end.
constexpr unsigned kPositionBits = 48, kIdBits = 15;
constexpr std::uint64_t kPositions = std::uint64_t{1} << kPositionBits;
constexpr std::uint64_t kIds = (std::uint64_t{1} << kIdBits) - 1;  // the last is never given
constexpr std::uint64_t kListed = std::uint64_t{1} << 63;

std::uint64_t position_in(std::uint64_t cursor) { return cursor % kPositions; }
std::uint64_t id_in(std::uint64_t cursor) { return cursor >> kPositionBits & kIds; }

/// A slot that holds an item, as it stands.
struct Held {
  std::uint64_t head, word;  ///< `head` is the key, or the fingerprint of a wide one
  gphash::Part key, value;
  std::uint64_t score = 0;

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

gphash::Part part_of(const void* data, std::uint32_t bytes) { return {static_cast<const std::byte*>(data), bytes}; }

void add_bytes(std::vector<std::byte>& to, const void* data, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  to.insert(to.end(), from, from + bytes);
}

/// Takes `bytes` bytes of a list of keys.
gphash::Part take_bytes(const std::vector<std::byte>& from, std::uint64_t& position, std::uint32_t bytes) {
  const gphash::Part taken{from.data() + position, bytes};
  position += bytes;
  return taken;
}

/// The hash of a key from its bytes, as the index asks for words.
class Given : public HostWords<Given> {};

/// The policy of what slots hold, and of how listed keys are stored.
template <bool kVariable>
struct Format;

template <>
struct Format<false> {
  static void read(const Layout& layout, const gphash::Slot* slot, Held& held);
  static gphash::Key key(const Layout& layout, const gphash::Part& key) {
    return gphash::given_key<Given>(layout, key.data);
  }
  static void add_key(std::vector<std::byte>& to, const gphash::Part& key) { add_bytes(to, key.data, key.size); }
  static gphash::Part next_key(const Layout& layout, const std::vector<std::byte>& from, std::uint64_t& position) {
    return take_bytes(from, position, layout.key_bytes());
  }
};

/// Pairs; each key in a list is preceded by its length.
template <>
struct Format<true> {
  static void read(const Layout& layout, const gphash::Slot*, Held& held) {
    const gphash::Pair pair = gphash::pair_at(Still{}, layout, held.word);
    held.key = pair.key;
    held.value = pair.value;
  }
  static gphash::Key key(const Layout& layout, const gphash::Part& key) {
    return {gphash::hash_of(key, layout.seed), key};
  }
  static void add_key(std::vector<std::byte>& to, const gphash::Part& key) {
    add_bytes(to, &key.size, sizeof key.size);
    add_bytes(to, key.data, key.size);
  }
  static gphash::Part next_key(const Layout&, const std::vector<std::byte>& from, std::uint64_t& position) {
    std::uint32_t bytes;
    std::memcpy(&bytes, take_bytes(from, position, sizeof bytes).data, sizeof bytes);
    return take_bytes(from, position, bytes);
  }
};

void Format<false>::read(const Layout& layout, const gphash::Slot* slot, Held& held) {
  if (slot == layout.reserved_slot) held.head = 0;
  const void* const key = layout.wide() ? static_cast<const void*>(gphash::wide_key(slot)) : &held.head;
  const void* const value = layout.in_slot() ? static_cast<const void*>(&held.word) : layout.cell(held.word - 1);
  held.key = part_of(key, layout.key_bytes());
  held.value = part_of(value, layout.value_bytes);
  if (layout.scored()) held.score = Still::load(layout.score_of(held.word - 1));
}

/// False if the slot is empty.
template <class Shape>
bool read_slot(const Layout& layout, const gphash::Slot* slot, Held& held) {
  held.head = Still::load(&slot->key);
  if (held.head == 0) return false;
  held.word = Still::load(&slot->word);
  if (held.word == 0 && !layout.in_slot()) return false;
  Format<Shape::kVariable>::read(layout, slot, held);
  return true;
}

bool same(const gphash::Part& a, const gphash::Part& b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

/// Calls `visit(slot)` for the slots from `position` on, the reserved-key slot first, then those of each level from the top, until
/// it returns false. Returns the position of the slot that stopped it, or that behind the last.
template <class Shape, class Visit>
std::uint64_t walk(const Layout& layout, std::uint64_t position, const Visit& visit) {
  if (position == 0) {
    const bool reserved = !view_as<Shape>(layout).has_fingerprints();  // no key behind a fingerprint lies there
    if (reserved && !visit(layout.reserved_slot)) return position;
    position = 1;
  }
  std::uint64_t begin = 1;
  for (unsigned rank = 0; rank < layout.shape.levels(); ++rank) {
    const std::uint64_t size = layout.buckets(rank) * layout.shape.slots();
    for (; position < begin + size; ++position) {
      if (!visit(layout.after(layout.level[rank], position - begin))) return position;
    }
    begin += size;
  }
  return position;
}

std::uint64_t position_of(const Layout& layout, const gphash::Slot* slot) {
  std::uint64_t begin = 1;
  for (unsigned rank = 0; rank < layout.shape.levels(); ++rank) {
    const std::uint64_t size = layout.buckets(rank) * layout.shape.slots();
    const auto at = reinterpret_cast<std::uintptr_t>(slot) - reinterpret_cast<std::uintptr_t>(layout.level[rank]);
    if (at < size * layout.slot_bytes()) return begin + at / layout.slot_bytes();
    begin += size;
  }
  return 0;
}

/// Looks a key up in a table that stands still.
template <class Shape>
bool find_still(const Layout& layout, const gphash::View<Shape>& view, const gphash::Part& key, Held& held) {
  const gphash::Candidates<Shape> candidates(view, Format<Shape::kVariable>::key(layout, key));
  for (LaneMask left = candidates.distinct(view); left != 0; left &= left - 1) {
    if (read_slot<Shape>(layout, candidates.slot(view, lowest_bit(left)), held) && same(held.key, key)) return true;
  }
  return false;
}

}  // namespace

/// True if the key was not met before. Whatever it moved since its last meeting has then been seen to.
bool Exports::is_new(Export& one, const gphash::Part& key) {
  if (one.ahead.empty()) return true;
  const auto moved = one.ahead.find(std::string(reinterpret_cast<const char*>(key.data), key.size));
  if (moved == one.ahead.end()) return true;
  const bool again = moved->second > 0;
  one.ahead.erase(moved);
  return !again;
}

template <class Shape>
void Exports::list_fallen_behind(Export& one) {
  for (const auto& [key, times] : one.ahead) {
    if (times < 0)
      Format<Shape::kVariable>::add_key(one.rest, part_of(key.data(), static_cast<std::uint32_t>(key.size())));
  }
  one.ahead.clear();
  one.listed = true;
  one.position = 0;
}

Exports::Take Exports::into(const ExportArrays& arrays) {
  return [to = arrays](const Taken& item) mutable {
    std::memcpy(to.keys, item.key.data, item.key.size);
    to.keys += item.key.size;
    if (to.scores != nullptr) *to.scores++ = item.score;
    if (to.values == nullptr || item.value.size == 0) return;
    std::memcpy(to.values, item.value.data, item.value.size);
    to.values += item.value.size;
  };
}

Exports::Take Exports::verified(const std::string& path, bool verify, const Take& take) {
  if (!verify) return take;
  return [&path, &take](const Taken& item) {
    require_whole(path, item.key, item.value);
    take(item);
  };
}

std::size_t Exports::pairs_into(Blobs* keys, Blobs* values, std::size_t n,
                                const std::function<std::size_t(const Take& take)>& copy) {
  for (Blobs* const blobs : {keys, values}) {
    if (blobs != nullptr) blobs->reset(n);
  }
  std::size_t row = 0;
  const auto keep = [&](Blobs* blobs, const gphash::Part& part) {
    if (blobs == nullptr) return;
    std::byte* const to = blobs->arena().take(part.size);
    if (part.size != 0) std::memcpy(to, part.data, part.size);
    blobs->rows()[row] = {to, part.size};
  };
  const std::size_t count = copy([&](const Taken& item) {
    keep(keys, item.key);
    keep(values, item.value);
    ++row;
  });
  for (Blobs* const blobs : {keys, values}) {
    if (blobs != nullptr) blobs->shrink(count);
  }
  return count;
}

template <class Shape>
std::size_t Exports::copy_slots(const Layout& layout, Export& one, const Take& take, std::size_t n,
                                std::uint64_t slots) {
  std::size_t count = 0;
  one.position = walk<Shape>(layout, one.position, [&](const gphash::Slot* slot) {
    if (count == n || slots-- == 0) return false;
    Held held;
    if (read_slot<Shape>(layout, slot, held) && is_new(one, held.key)) {
      take({held.key, held.value, held.score});
      ++count;
    }
    return true;
  });
  return count;
}

template <class Shape>
std::size_t Exports::copy_listed(const Layout& layout, Export& one, const Take& take, std::size_t n,
                                 std::uint64_t most) {
  std::size_t count = 0;
  const auto view = view_as<Shape>(layout);
  while (count < n && most-- != 0 && one.position < one.rest.size()) {
    Held held;
    const gphash::Part key = Format<Shape::kVariable>::next_key(layout, one.rest, one.position);
    if (!find_still(layout, view, key, held)) continue;
    take({held.key, held.value, held.score});
    ++count;
  }
  return count;
}

std::size_t Exports::copy(const Layout& layout, std::uint64_t& cursor, const Take& take, std::size_t n,
                          std::uint64_t slots) {
  if (cursor == kEnd) return 0;
  const std::lock_guard lock(mutex_);
  Export& one = resume(cursor);
  try {
    return gphash::with_shape(layout.shape.variable_, [&]<class Shape>(std::type_identity<Shape>) {
      return copy_piece<Shape>(layout, one, cursor, take, n, slots);
    });
  } catch (const std::bad_alloc&) {
    forget(std::prev(exports_.end()));  // it has read keys that were not returned
    throw;
  }
}

template <class Shape>
std::size_t Exports::copy_piece(const Layout& layout, Export& one, std::uint64_t& cursor, const Take& take,
                                std::size_t n, std::uint64_t slots) {
  std::size_t count = 0;
  if (!one.listed) {
    count = copy_slots<Shape>(layout, one, take, n, slots);
    if (one.position > layout.total_slots()) {
      list_fallen_behind<Shape>(one);
      --walking_;
    }
  } else {
    count = copy_listed<Shape>(layout, one, take, n, slots);
  }
  if (one.listed && one.position == one.rest.size()) {
    exports_.pop_back();
    cursor = kEnd;
  } else {
    cursor = one.cursor = one.position | one.id << kPositionBits | (one.listed ? kListed : 0);
  }
  return count;
}

/// The export that `cursor` names, as the one that was used last.
Exports::Export& Exports::resume(std::uint64_t cursor) {
  if (id_in(cursor) == 0) return begin(position_in(cursor));
  const auto found =
      std::find_if(exports_.begin(), exports_.end(), [&](const Export& one) { return one.cursor == cursor; });
  if (found == exports_.end()) {
    throw InvalidArgument(
        "the cursor is of no export under way here: give the one that the call before returned, or 0 to "
        "begin. Of all exports, the last " +
        std::to_string(kMost) + " are remembered");
  }
  std::rotate(found, found + 1, exports_.end());
  return exports_.back();
}

Exports::Export& Exports::begin(std::uint64_t position) {
  if (exports_.size() == kMost) forget(exports_.begin());
  Export& one = exports_.emplace_back();
  one.id = 1 + begun_++ % (kIds - 1);
  one.position = position;
  ++walking_;
  return one;
}

void Exports::forget(std::deque<Export>::iterator which) {
  walking_ -= which->listed ? 0 : 1;
  exports_.erase(which);
}

void Exports::forget_walking() {
  std::erase_if(exports_, [](const Export& one) { return !one.listed; });
  walking_ = 0;
}

void Exports::end(std::uint64_t cursor) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(exports_.begin(), exports_.end(), [&](const Export& one) { return one.id == id_in(cursor); });
  if (cursor != kEnd && found != exports_.end()) forget(found);
}

void Exports::note(const Layout& layout, const MoveLog& log) noexcept {
  const std::lock_guard lock(mutex_);
  if (!log.complete()) return forget_walking();
  try {
    add_moves(layout, log);
  } catch (const std::bad_alloc&) {
    forget_walking();
  }
}

void Exports::add_moves(const Layout& layout, const MoveLog& log) {
  for (const MoveLog::Move& move : log.moves()) {
    const std::uint64_t from = position_of(layout, move.from), to = position_of(layout, move.to);
    for (Export& one : exports_) {
      const int change = (to >= one.position) - (from >= one.position);
      if (one.listed || change == 0) continue;
      int& times = one.ahead[move.key];
      times += change;
      if (times == 0) one.ahead.erase(move.key);
    }
  }
}

void Exports::list_rest(const Layout& layout) noexcept {
  if (!want_moves()) return;
  const std::lock_guard lock(mutex_);
  try {
    gphash::with_shape(layout.shape.variable_,
                       [&]<class Shape>(std::type_identity<Shape>) { list_all<Shape>(layout); });
  } catch (const std::bad_alloc&) {
    forget_walking();
  }
}

template <class Shape>
void Exports::list_all(const Layout& layout) {
  for (Export& one : exports_) {
    if (one.listed) continue;
    walk<Shape>(layout, one.position, [&](const gphash::Slot* slot) {
      Held held;
      if (read_slot<Shape>(layout, slot, held) && is_new(one, held.key))
        Format<Shape::kVariable>::add_key(one.rest, held.key);
      return true;
    });
    list_fallen_behind<Shape>(one);
  }
  walking_ = 0;
}

}  // namespace holdfast::gphash
