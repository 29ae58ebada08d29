// table_walk.cpp: how a walk continues from piece to piece, and what becomes of the items that were chosen.
#include "structures/gphash/cuda/users/table_walk.hpp"

#include <algorithm>
#include <utility>

#include "core/both.hpp"
#include "gpu/capture.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::uint64_t kMostItems = std::uint64_t{1} << 22;     // of a piece, and least of a batch that erases
constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 20;  // of one array of a piece
constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kAllAtOnce = std::uint64_t{1} << 31;
constexpr unsigned kItemsPerBlock = 32 * ItemArrays::kThreads;

constexpr std::uint64_t pieces_of(std::uint64_t bytes_each) {
  return std::clamp<std::uint64_t>(kPieceBytes / std::max<std::uint64_t>(bytes_each, 1), 1024, kMostItems);
}

}  // namespace

TableWalk::TableWalk(CudaTable& table, Changes& changes, const WalkPlan& plan, std::function<void()> before_change,
                     cudaStream_t stream)
    : table_(table),
      changes_(changes),
      on_(table.options.device),
      plan_(plan),
      before_change_(std::move(before_change)),
      stream_(stream),
      exclusive_(keep_others_out()),
      layout_(table.layout()),
      limits_(plan.first, plan.last, layout_.key_bytes()),
      by_cells_(!layout_.in_slot() && (reads_cells() || plan.values != nullptr || plan.scores != nullptr)) {
  table.order.require_working();
  free_what_graphs_kept();
  table.order.finish();
  make_space();
}

std::unique_lock<threads::BinarySemaphore> TableWalk::keep_others_out() const {
  if (is_capturing(stream_)) {
    throw InvalidArgument(
        "stream is being captured into a CUDA graph, and a graph cannot hold a selection, which the host takes from "
        "piece to piece: run it outside");
  }
  require_stream(stream_, table_.options.device);
  table_.require_reachable(plan_.keys, "keys");
  table_.require_reachable(plan_.values, "values");
  table_.require_reachable(plan_.scores, "scores");
  return std::unique_lock(table_.order.changing());
}

TableWalk::~TableWalk() {
  // No thread may change what a kernel still looks at. After an error of the GPU nothing runs any more.
  static_cast<void>(cudaStreamSynchronize(stream_));
  if (staging_) static_cast<void>(cudaStreamSynchronize(staging_->link));
}

void TableWalk::make_space() {
  int processors = 1;
  cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, table_.options.device),
              "asking what the GPU can do");
  most_blocks_ = 8 * static_cast<unsigned>(processors);
  const bool lists = !is(WalkPlan::Purpose::count), resident = table_.memory.cache().view().resident();
  const std::uint64_t most = lists || by_cells_ ? kMostItems : kAllAtOnce;
  piece_slots_ = resident ? most : pieces_of(layout_.slot_bytes());
  piece_cells_ = kMostItems;
  if (by_cells_ && reads_cells()) {
    choose_staged();
    if (!table_.memory.values().view().resident()) piece_cells_ = pieces_of(2 * staged_bytes_);  // two at a time
  }
  if (is(WalkPlan::Purpose::erase)) {
    piece_slots_ = std::min(piece_slots_, pieces_of(layout_.key_bytes()));
    piece_cells_ = std::min(piece_cells_, pieces_of(layout_.key_bytes()));
  }
  make_arrays();
}

/// One range of each cell, in whole units: with a score it goes to the end of the cell.
void TableWalk::choose_staged() {
  const std::uint32_t unit = layout_.cell_bytes % 16 == 0 ? 16 : 8;
  std::uint32_t from = 0, to = layout_.cell_bytes;
  if (!plan_.reads_values) {
    from = layout_.score_at();
  } else if (plan_.column_bytes != 0) {
    from = plan_.column;
    if (!plan_.reads_scores) to = plan_.column + plan_.column_bytes;
  }
  staged_from_ = from / unit * unit;
  staged_bytes_ = (to + unit - 1) / unit * unit - staged_from_;
}

void TableWalk::make_arrays() {
  const std::uint64_t all_slots = layout_.total_slots();
  const std::uint64_t piece = by_cells_ ? std::min(piece_cells_, layout_.cells) : std::min(piece_slots_, all_slots);
  count_ = DeviceBuffer<unsigned long long>(1);
  cuda::check(cudaMemsetAsync(count_.data(), 0, 8, stream_), "starting a selection");
  reserved_item_ = DeviceBuffer<std::uint64_t>(3);
  if (!is(WalkPlan::Purpose::count)) list_ = DeviceBuffer<std::uint32_t>(piece);
  if (is(WalkPlan::Purpose::erase))
    taken_ = DeviceBuffer<std::byte>(std::min(kMostItems + piece, all_slots + 1) * layout_.key_bytes());
  if (!table_.memory.cache().view().resident())
    slots_ = DeviceBuffer<std::uint64_t>(std::min(piece_slots_, all_slots) * layout_.slot_bytes() / 8);
  if (!by_cells_) return;
  if (staged_bytes_ != 0 && !table_.memory.values().view().resident())
    staging_ = std::make_unique<Staging>(piece * staged_bytes_);
  const std::uint64_t cells = std::min(layout_.cells, std::max(kWindowBytes / (8 * words_by_cell()), kMostItems));
  window_words_ = DeviceBuffer<std::uint64_t>(cells * words_by_cell());
  window_.heads = window_words_.data();
  window_.wide = layout_.wide() ? window_words_.data() + cells : nullptr;
}

bool TableWalk::next(ItemArrays& items) {
  take_chosen();
  items = {};
  if (!(by_cells_ ? next_cells(items) : next_slots(items)) && !next_reserved(items)) return false;
  items.key_bytes = layout_.key_bytes();
  items.chosen = list_.data();
  items.count = count_.data();
  items.blocks = static_cast<unsigned>(
      std::clamp<std::uint64_t>((items.size + kItemsPerBlock - 1) / kItemsPerBlock, 1, most_blocks_));
  piece_ = items;
  return true;
}

/// `size` slots of a level from `first` on.
CachedSlots TableWalk::slots_at(unsigned rank, std::uint64_t first, std::uint64_t size) {
  const CacheView& cache = table_.memory.cache().view();
  const unsigned key_words = layout_.key_words();
  CachedSlots slots;
  if (cache.resident()) {
    slots = cache.part[rank];
    slots.keys += first;
    slots.words += first;
    if (slots.wide != nullptr) slots.wide += first * key_words;
    return slots;
  }
  slots.of = layout_.after(layout_.level[rank], first);
  slots.bytes = size * layout_.slot_bytes();
  slots.keys = slots_.data();
  slots.words = slots.keys + size;
  slots.wide = key_words == 1 ? nullptr : slots.words + size;
  load_slots(slots, key_words, stream_);
  return slots;
}

bool TableWalk::next_slots(ItemArrays& items) {
  while (rank_ < layout_.shape.levels() && slot_ == layout_.buckets(rank_) * layout_.shape.slots()) {
    ++rank_;
    slot_ = 0;
  }
  if (rank_ == layout_.shape.levels()) return false;
  items.size = std::min(piece_slots_, layout_.buckets(rank_) * layout_.shape.slots() - slot_);
  const CachedSlots slots = slots_at(rank_, slot_, items.size);
  slot_ += items.size;
  items.heads = slots.keys;
  items.words = layout_.key_decides() ? nullptr : slots.words;
  items.keys = reinterpret_cast<const std::byte*>(layout_.wide() ? slots.wide : slots.keys);
  items.values = reinterpret_cast<const std::byte*>(slots.words) + plan_.column;
  return true;
}

bool TableWalk::next_cells(ItemArrays& items) {
  if (cell_ == layout_.cells) return false;
  if (cell_ == window_.first + window_.size) begin_window();
  const ByCell cells = cells_at(cell_);
  items.size = cells.size;
  cell_ += cells.size;
  items.heads = cells.heads;
  items.keys = reinterpret_cast<const std::byte*>(layout_.wide() ? cells.wide : cells.heads);
  give_values(items, cells);
  return true;
}

/// Those of a piece that begins there, as far as the window goes.
ByCell TableWalk::cells_at(std::uint64_t cell) const {
  HOLDFAST_ASSERT(window_.first <= cell && cell < window_.first + window_.size);
  const std::uint64_t at = cell - window_.first;
  ByCell cells = window_;
  cells.first = cell;
  cells.size = std::min(piece_cells_, window_.size - at);
  cells.heads += at;
  if (layout_.wide()) cells.wide += at * layout_.key_words();
  return cells;
}

/// The next cells find out which items name them. Where not all slots have copies, they come over the link for it.
void TableWalk::begin_window() {
  window_.first = cell_;
  window_.size = std::min(window_words_.size() / words_by_cell(), layout_.cells - cell_);
  cuda::check(cudaMemsetAsync(window_.heads, 0, 8 * window_.size, stream_), "starting a selection");
  for (unsigned rank = 0; rank < layout_.shape.levels(); ++rank) {
    const std::uint64_t all = layout_.buckets(rank) * layout_.shape.slots();
    for (std::uint64_t at = 0; at < all; at += piece_slots_) {
      const std::uint64_t size = std::min(piece_slots_, all - at);
      place_by_cell(slots_at(rank, at, size), size, limits_, window_, stream_);
    }
  }
}

/// Where the values of some cells are; over the link, if they have to be.
void TableWalk::give_values(ItemArrays& items, const ByCell& cells) {
  first_cell_ = cells.first;
  if (!reads_cells()) return;
  const auto point = [&](const std::byte* at, std::uint32_t from) {  // at that byte of the first cell
    if (plan_.reads_values) items.values = at + (plan_.column - from);
    if (plan_.reads_scores) items.scores = at + (layout_.score_at() - from);
  };
  if (!staging_) {  // all have copies
    point(table_.memory.values().view().copies + cells.first * layout_.cell_bytes, 0);
    items.value_stride = layout_.cell_bytes;
    return;
  }
  if (!staging_->ahead) stage(cells);
  Staging::Half& half = staging_->half();
  ++staging_->turn;
  point(half.values.data(), staged_from_);
  items.value_stride = staged_bytes_;
  staging_->ahead = cell_ < window_.first + window_.size;
  if (staging_->ahead) stage(cells_at(cell_));
  half.arrived.hold(stream_);
}

/// Into the half whose turn it is, when all that the caller's stream has been given by now is done.
void TableWalk::stage(const ByCell& cells) {
  staging_->looked.record(stream_);
  staging_->looked.hold(staging_->link);
  stage_values(layout_, table_.memory.values().view(), cells, staged_from_, staged_bytes_,
               staging_->half().values.data(), staging_->link);
  staging_->half().arrived.record(staging_->link);
}

/// The key 0, which lies in no level, by itself. The pool stands still, so the host reads it there.
bool TableWalk::next_reserved(ItemArrays& items) {
  if (reserved_done_ || layout_.wide()) return false;
  reserved_done_ = true;
  cuda::check(cudaStreamSynchronize(stream_), "running a selection");
  const std::uint64_t words[3] = {__atomic_load_n(&layout_.reserved_slot->key, __ATOMIC_ACQUIRE),
                                  __atomic_load_n(&layout_.reserved_slot->word, __ATOMIC_ACQUIRE), 0};
  if (words[0] == 0 || (words[1] == 0 && !layout_.in_slot())) return false;
  cuda::check(cudaMemcpyAsync(reserved_item_.data(), words, sizeof words, cudaMemcpyHostToDevice, stream_),
              "running a selection");
  items.size = 1;
  items.heads = reserved_item_.data();
  items.keys = reinterpret_cast<const std::byte*>(reserved_item_.data() + 2);
  items.values = reinterpret_cast<const std::byte*>(reserved_item_.data() + 1) + plan_.column;
  if (by_cells_) give_values(items, {words[1] - 1, 1, reserved_item_.data(), nullptr});
  return true;
}

/// Of the piece that was given last.
void TableWalk::take_chosen() {
  cuda::check(cudaGetLastError(), "starting a predicate");
  if (piece_.size == 0 || is(WalkPlan::Purpose::count)) return;
  unsigned long long size = 0;
  cuda::check(cudaMemcpyAsync(&size, count_.data(), 8, cudaMemcpyDeviceToHost, stream_), "running a predicate");
  cuda::check(cudaStreamSynchronize(stream_), "running a predicate");
  if (size != 0) {
    cuda::check(cudaMemsetAsync(count_.data(), 0, 8, stream_), "running a selection");
    chosen_.all += size;
    if (is(WalkPlan::Purpose::give)) {
      give(std::min<std::uint64_t>(size, plan_.capacity - chosen_.given));
    } else {
      const std::uint32_t key_bytes = layout_.key_bytes();
      take_keys(piece_.keys, key_bytes, list_.data(), size, taken_.data() + taken_keys_ * key_bytes, stream_);
      taken_keys_ += size;
      if (taken_keys_ >= kMostItems) erase_taken();
    }
  }
  piece_ = {};
}

/// The first of those that were chosen, to the caller's arrays.
void TableWalk::give(std::uint64_t size) {
  if (size == 0) return;
  HOLDFAST_ASSERT(chosen_.given + size <= plan_.capacity);
  if (plan_.keys != nullptr) {
    auto* const to = static_cast<std::byte*>(plan_.keys) + chosen_.given * layout_.key_bytes();
    take_keys(piece_.keys, layout_.key_bytes(), list_.data(), size, to, stream_);
  }
  if (plan_.values != nullptr && layout_.value_bytes != 0) {
    auto* const to = static_cast<std::byte*>(plan_.values) + chosen_.given * layout_.value_bytes;
    const bool whole = plan_.reads_values && plan_.column_bytes == 0;
    if (!by_cells_) {
      const auto* const words = reinterpret_cast<const std::uint64_t*>(piece_.values - plan_.column);
      take_words(words, layout_.value_bytes, list_.data(), size, to, stream_);
    } else if (whole) {
      take_values(layout_, const_cast<std::byte*>(piece_.values), list_.data(), size, to, stream_);
    } else {
      take_values(layout_, layout_.heap + first_cell_ * layout_.cell_bytes, list_.data(), size, to, stream_);
    }
  }
  if (plan_.scores != nullptr) {
    std::uint64_t* const to = plan_.scores + chosen_.given;
    const std::byte* const in_pool = layout_.cell(first_cell_) + layout_.score_at();
    piece_.scores != nullptr ? take_scores(piece_.scores, piece_.value_stride, list_.data(), size, to, stream_)
                             : take_scores(in_pool, layout_.cell_bytes, list_.data(), size, to, stream_);
  }
  chosen_.given += size;
}

/// As a batch of theirs, which nothing can come before. Each key is there, once.
void TableWalk::erase_taken() {
  if (taken_keys_ == 0) return;
  before_change_();
  gphash::Rows rows;
  rows.op = Op::erase;
  rows.value_bytes = layout_.value_bytes;
  changes_.change(table_.change_job(rows, OpSet(rows.op), taken_.data(), nullptr, taken_keys_), true, {}, false,
                  stream_);
  taken_keys_ = 0;
}

Chosen TableWalk::finish() {
  take_chosen();
  if (is(WalkPlan::Purpose::erase)) erase_taken();
  if (is(WalkPlan::Purpose::count)) {
    unsigned long long size = 0;
    cuda::check(cudaMemcpyAsync(&size, count_.data(), 8, cudaMemcpyDeviceToHost, stream_), "running a predicate");
    cuda::check(cudaStreamSynchronize(stream_), "running a predicate");
    chosen_.all = size;
  }
  cuda::check(cudaStreamSynchronize(stream_), "running a selection");
  return chosen_;
}

}  // namespace holdfast::gphash::cuda
