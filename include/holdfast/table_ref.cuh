// table_ref.cuh: the table inside a user's own kernels. GPHash §3.2.1, rule 23.
//
//   auto session = degrees.session(stream, vertices);
//   count_degrees<<<blocks, 256, 0, stream>>>(session.ref<std::uint64_t, std::uint32_t>(), edges);
//   session.commit(stream);                             // durable when the stream gets there
//
// An operation is executed by a warp, a tile of 32 lanes, all of which call together with the same key and value, and
// get the same result: `cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block())` in blocks
// of a multiple of 32 threads. If each lane has a different key, the warp executes one after another, as batches do:
//
//   for (unsigned lane = 0; lane < warp.num_threads(); ++lane)
//     if (warp.shfl(has_key, lane)) table.accumulate(warp, warp.shfl(key, lane), 1u);
#pragma once

#include <cooperative_groups.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "holdfast/session.hpp"
#include "holdfast/status.hpp"
#include "structures/gphash/cuda/users/session_memory.cuh"
#include "structures/gphash/protocol/run.hpp"

namespace holdfast {

/// The element type of a value, for `accumulate`, if it follows from its type: a number, or an array of one.
template <class Value>
struct ElementOf {
  static constexpr bool kKnown = false;
};
template <class Number>
requires((std::is_integral_v<Number> && (sizeof(Number) == 4 || sizeof(Number) == 8)) ||
         std::is_same_v<Number, float> || std::is_same_v<Number, double>) struct ElementOf<Number> {
  static constexpr bool kKnown = true;
  static constexpr Element value = std::is_same_v<Number, float>    ? Element::f32
                                   : std::is_same_v<Number, double> ? Element::f64
                                   : sizeof(Number) == 4 ? (std::is_signed_v<Number> ? Element::i32 : Element::u32)
                                                         : (std::is_signed_v<Number> ? Element::i64 : Element::u64);
};
template <class Number, std::size_t N>
struct ElementOf<std::array<Number, N>> : ElementOf<Number> {};

/// A table with keys of type `Key` and values of type `Value`, in kernels of the session that gave it. Passed by value.
///
/// Keys and values are read through the references: a local variable of each lane, equal in all lanes, or memory that the
/// lanes share. An operation that meets another on the same key retries until it succeeds; all operations make progress.
/// Operations on one key take effect one after another, those of a warp in its order, those of several warps in any.
///
/// Each operation is durable when it returns, and visible to all kernels at once, but its result is promised
/// only from Session::commit on. After the session's end every operation returns `not_run`, or false.
template <class Key, class Value, class Configuration = DefaultConfiguration>
class TableRef {
  static_assert(std::is_trivially_copyable_v<Key> && sizeof(Key) % 8 == 0 && sizeof(Key) <= 128,
                "a Key has 8 bytes, or another multiple of 8 up to 128, and is trivially copyable");
  static_assert(std::is_trivially_copyable_v<Value>, "a Value is trivially copyable");
  using FixedShape = std::conditional_t<sizeof(Key) == 8, gphash::DefaultShape, gphash::DefaultWideShape>;
  using Shape =
      std::conditional_t<std::is_same_v<Configuration, DefaultConfiguration>, FixedShape, gphash::RuntimeShape>;

 public:
  /// An empty struct stands for values of 0 bytes: the table is a set.
  static constexpr std::uint32_t kValueBytes = std::is_empty_v<Value> ? 0 : sizeof(Value);
  /// A warp.
  using Tile = cooperative_groups::thread_block_tile<32>;

  /// Returns whether the key is present.
  __device__ bool contains(const Tile& tile, const Key& key) const {
    return look_up(tile, key, [](auto&&...) {});
  }
  /// Copies the key's value to `value`, a local variable of each lane. False: the key is absent, and `value` is unchanged.
  __device__ bool find(const Tile& tile, const Key& key, Value& value) const {
    static_assert(sizeof(Value) <= 256,
                  "values of more than 256 bytes are copied to memory that the lanes share: copy()");
    return look_up(tile, key, [&](const auto&, const auto& memory, std::uint64_t word, const std::byte* cell) {
      auto* const to = reinterpret_cast<std::byte*>(&value);
      if (kMayLieInSlot && cell == nullptr) {
        store_bytes(to, word, kValueBytes);
      } else {
        const auto* const words = reinterpret_cast<const std::uint64_t*>(cell);
        for (std::uint32_t i = 0; i != (kValueBytes + 7) / 8; ++i)
          store_bytes(to + 8 * i, memory.load_value(words + i), kValueBytes - 8 * i);
      }
    });
  }
  /// Copies the key's value to memory that all lanes share, each lane a part of it. Before
  /// tile.sync() a lane may see only its part. False: the key is absent, and nothing is copied.
  __device__ bool copy(const Tile& tile, const Key& key, Value* to) const {
    return look_up(tile, key, [&](const auto& warp, const auto& memory, std::uint64_t word, const std::byte* cell) {
      auto* const bytes = reinterpret_cast<std::byte*>(to);
      if (!kMayLieInSlot || cell != nullptr) {
        warp.read_cell(memory, bytes, cell, kValueBytes);
      } else if (warp.lane() == 0) {
        store_bytes(bytes, word, kValueBytes);
      }
    });
  }

  // Changes. `no_space`: no slot or no cell was left, or the session has made as many changes as it reserved; nothing changed.

  /// Adds a key; keeps the value of a present key. → inserted, exists, no_space
  __device__ Status insert(const Tile& tile, const Key& key, const Value& value) const {
    return change(tile, Op::insert, key, &value);
  }
  /// → inserted, updated, no_space
  __device__ Status insert_or_assign(const Tile& tile, const Key& key, const Value& value) const {
    return change(tile, Op::insert_or_assign, key, &value);
  }
  /// Replaces the value of a present key. → updated, not_found, no_space
  __device__ Status assign(const Tile& tile, const Key& key, const Value& value) const {
    return change(tile, Op::assign, key, &value);
  }
  /// → erased, not_found
  __device__ Status erase(const Tile& tile, const Key& key) const { return change(tile, Op::erase, key, nullptr); }
  /// Combines the elements of `value` with the present ones, or adds the key with it. → updated, inserted,
  /// no_space. Sums of integers wrap; the last bits of floating-point sums depend on the order of warps.
  __device__ Status accumulate(const Tile& tile, const Key& key, const Value& value, Combine how = Combine::add) const {
    static_assert(ElementOf<Value>::kKnown, "what are the elements of this Value? Give accumulate() an Element");
    return change(tile, Op::accumulate, key, &value, how, ElementOf<Value>::value);
  }
  /// The same for a Value whose elements are not known from its type. They must fill it, else it returns `not_run`.
  __device__ Status accumulate(const Tile& tile, const Key& key, const Value& value, Combine how,
                               Element element) const {
    if (kValueBytes % element_bytes(element) != 0) return Status::not_run;
    return change(tile, Op::accumulate, key, &value, how, element);
  }

 private:
  friend class Session;
  using Warp = gphash::cuda::WarpTile;
  using Memory = gphash::cuda::SessionMemory;
  static constexpr bool kMayLieInSlot = kValueBytes <= 8;  ///< it does, unless the table keeps scores

  explicit TableRef(const SessionHandle& handle)
      : table_(static_cast<gphash::cuda::Descriptor*>(handle.descriptor)), session_(handle.number) {}

  __device__ static gphash::Key key_of(const gphash::View<Shape>& view, const Key& key) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&key);
    if constexpr (sizeof(Key) == 8) return load_bytes(bytes, 8);
    return gphash::given_key<Memory>(view, bytes);
  }

  __device__ bool is_open(const Warp& warp) const {
    return warp.once([&] { return *static_cast<const volatile std::uint64_t*>(&table_->session) == session_; });
  }

  /// Calls `use` with the word of the key's slot, or, for a value in a cell, with its address.
  template <class Use>
  __device__ bool look_up(const Tile& tile, const Key& key, const Use& use) const;
  /// One function for all kinds, not inlined: it is long, and its work takes longer than a call.
  __device__ __noinline__ Status change(const Tile& tile, Op op, const Key& key, const Value* value,
                                        Combine how = Combine::add, Element element = Element::u64) const;

  gphash::cuda::Descriptor* table_;
  std::uint64_t session_;
};

/// No cell that the session's kernels can see is reused before the session ends: the session holds an epoch.
template <class Key, class Value, class Configuration>
template <class Use>
__device__ bool TableRef<Key, Value, Configuration>::look_up(const Tile& tile, const Key& key, const Use& use) const {
  const Warp warp(tile.thread_rank());
  if (!is_open(warp)) return false;
  const gphash::View<Shape>& view = table_->template view<Shape>();
  const Memory memory(*table_, view);
  const gphash::Candidates<Shape> candidates(view, key_of(view, key));
  const gphash::Found found = gphash::find_settled(warp, memory, view, candidates);
  if (!found.item) return false;
  const std::byte* value = nullptr;
  if (!kMayLieInSlot || !view.in_slot()) {
    const std::uint64_t cell = found.item.word - 1;
    const gphash::cuda::ValueView& copies = table_->cache.values;
    std::uint64_t position = gphash::cuda::kNoPosition;
    if (copies.any()) position = warp.once([&] { return gphash::cuda::copy_of_cell(memory, copies, cell); });
    value = position == gphash::cuda::kNoPosition ? view.cell(cell) : copies.copies + position * view.cell_bytes;
  }
  use(warp, memory, found.item.word, value);
  return true;
}

template <class Key, class Value, class Configuration>
__device__ Status TableRef<Key, Value, Configuration>::change(const Tile& tile, Op op, const Key& key,
                                                              const Value* value, Combine how, Element element) const {
  const Warp warp(tile.thread_rank());
  if (!is_open(warp)) return Status::not_run;
  const gphash::View<Shape>& view = table_->template view<Shape>();
  const Memory memory(*table_, view);
  const gphash::Candidates<Shape> candidates(view, key_of(view, key));
  Status status = Status::not_run;  // in the lane that does the steps
  gphash::Rows rows;
  rows.values = reinterpret_cast<const std::byte*>(value);
  rows.statuses = &status;
  rows.op = op;
  rows.combine = how;
  rows.element = element;
  rows.value_bytes = kValueBytes;
  rows.score = table_->score;
  // Cells count as they are taken. Where values lie in slots only a new key counts, and whether it is new is seen first.
  const bool in_slot = kMayLieInSlot && view.in_slot();
  gphash::Permits permits;
  permits.new_key = !in_slot;
  bool charged = false;
  for (unsigned pause = 64;;) {
    const gphash::Outcome outcome =
        gphash::apply_run(warp, memory, view, rows, gphash::Run<std::uint32_t>{}, candidates, permits);
    memory.keep_copy(warp, view);
    if (outcome == gphash::Outcome::claim_missed) {  // back in line, which is this warp alone
      memory.count_claim_miss();
      __nanosleep(pause);
      pause = pause < 1024 ? 2 * pause : pause;
    } else if (outcome != gphash::Outcome::done) {
      (permits.new_key ? permits.new_key : permits.new_value) = false;
    } else {
      status = warp.from_lane(status, 0);
      if (!in_slot || status != Status::no_space || charged) break;
      charged = permits.new_key = warp.once([&] { return memory.charge(); });
      if (!charged) break;
    }
  }
  if (warp.lane() == 0) {
    if (charged && status != Status::inserted) memory.give_back();
    memory.flush_counts();
  }
  return status;
}

template <class Key, class Value, class Configuration>
TableRef<Key, Value, Configuration> Session::ref() const {
  using Ref = TableRef<Key, Value, Configuration>;
  return Ref(handle_for(sizeof(Key), Ref::kValueBytes, std::is_same_v<Configuration, DefaultConfiguration>));
}

template <class Key, class Value, class Use>
void Session::visit(Use&& use) const {
  if (about_.default_configuration) {
    use(ref<Key, Value, DefaultConfiguration>());
  } else {
    use(ref<Key, Value, AnyConfiguration>());
  }
}

}  // namespace holdfast
