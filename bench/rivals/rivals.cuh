// rivals.cuh: the indexes that Holdfast is compared with, as studies run them: made, emptied, and given batches.
#pragma once

#include "arena.cuh"
#include "kernels.cuh"

namespace holdfast::bench {

/// Free cells, numbered in GPU memory.
class CellPool {
 public:
  CellPool(Arena& arena, std::uint64_t cells, std::uint64_t cell_bytes) : free_(cells), taken_(2) {
    number_kernel<<<kRivalBlocks, kRivalThreads>>>(free_.data(), cells);
    const std::uint64_t counts[2] = {0, cells};
    must(cudaMemcpy(taken_.data(), counts, sizeof counts, cudaMemcpyHostToDevice), "counting cells");
    view_ = {arena.take<std::byte>(cells * cell_bytes), cell_bytes, cells, free_.data(), taken_.data()};
  }
  const Cells& view() const { return view_; }

 private:
  GpuArray<std::uint32_t> free_;
  GpuArray<std::uint64_t> taken_;
  Cells view_;
};

inline Rows rows_of(const Batch& batch, unsigned words) {
  Rows rows;
  rows.keys = static_cast<const std::uint64_t*>(batch.keys);
  rows.values = static_cast<const std::uint64_t*>(batch.values);
  rows.out = static_cast<std::uint64_t*>(batch.out);
  rows.statuses = batch.statuses;
  rows.found = batch.found;
  rows.size = batch.size;
  rows.each = std::clamp<std::uint64_t>(batch.size / kRivalWarps, 1, 32);
  rows.words = words;
  return rows;
}

/// As many blocks as the rows have threads for, and no more than run at a time.
inline unsigned blocks_for(std::uint64_t threads) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((threads + kRivalThreads - 1) / kRivalThreads, 1, kRivalBlocks));
}

/// Calls `run` with the operation as a constant.
template <class Run>
void with_op(Op op, const Run& run) {
  switch (op) {
    case Op::find: return run(std::integral_constant<Op, Op::find>{});
    case Op::insert: return run(std::integral_constant<Op, Op::insert>{});
    case Op::assign: return run(std::integral_constant<Op, Op::assign>{});
    case Op::erase: return run(std::integral_constant<Op, Op::erase>{});
    default: throw Error("link: a rival was given an operation that it does not have");
  }
}

/// The level table without anything in GPU memory.
template <bool kInPlace>
class LevelRival {
 public:
  static constexpr std::uint64_t cell_bytes(unsigned words) { return 8 * (words + Level<kInPlace>::kKeyWords); }
  static unsigned bits_for(std::uint64_t items) {
    unsigned bits = 1;
    while (Level<kInPlace>::slot_count(bits) * 3 / 4 < items) ++bits;
    return bits;
  }
  static std::size_t slot_bytes(std::uint64_t items) {
    return Level<kInPlace>::slot_count(bits_for(items)) * sizeof(Words);
  }
  static std::size_t bytes(std::uint64_t items, std::uint64_t cells, unsigned words) {
    return slot_bytes(items) + cells * cell_bytes(words) + 4096;
  }

  LevelRival(Arena& arena, std::uint64_t items, std::uint64_t cells, unsigned words)
      : claimed_(Level<kInPlace>::slot_count(bits_for(items)) / 32) {
    arena.clear(slot_bytes(items));
    table_.upper_bits = bits_for(items);
    table_.slots = arena.take<Words>(Level<kInPlace>::slot_count(table_.upper_bits));
    table_.claimed = claimed_.data();
    table_.value_words = words;
    cells_ = std::make_unique<CellPool>(arena, cells, cell_bytes(words));
    table_.cells = cells_->view();
    must(cudaMemset(claimed_.data(), 0, claimed_.size() * 4), "making a rival");
  }

  /// A thread an operation, or a warp.
  void run(const Batch& batch, bool warps) {
    const Rows rows = rows_of(batch, table_.value_words);
    const auto stream = static_cast<cudaStream_t>(batch.device->stream);
    with_op(batch.op, [&](auto op) {
      if (warps) {
        warp_kernel<kInPlace, op.value><<<blocks_for(rows.size * 32), kRivalThreads, 0, stream>>>(table_, rows);
      } else {
        thread_kernel<kInPlace, op.value><<<blocks_for(rows.size), kRivalThreads, 0, stream>>>(table_, rows);
      }
    });
    if (batch.op == Op::insert)
      must(cudaMemsetAsync(claimed_.data(), 0, claimed_.size() * 4, stream), "ending a batch");
    must(cudaGetLastError(), "running a rival");
  }

 private:
  Level<kInPlace> table_;
  GpuArray<std::uint32_t> claimed_;
  std::unique_ptr<CellPool> cells_;
};

/// Chained slabs with an undo log, five of seven pairs in use.
class SlabRival {
 public:
  static std::uint64_t buckets_for(std::uint64_t items) { return items / 5 + 1; }
  static std::uint64_t slabs_for(std::uint64_t items) { return buckets_for(items) / 4 * 5 + 64; }
  static std::size_t index_bytes(std::uint64_t items) {
    return slabs_for(items) * sizeof(Slab) + kRivalWarps * sizeof(UndoEntry) + 4096;
  }
  static std::size_t bytes(std::uint64_t items, std::uint64_t cells, unsigned words) {
    return index_bytes(items) + cells * words * 8 + 4096;
  }

  SlabRival(Arena& arena, std::uint64_t items, std::uint64_t cells, unsigned words)
      : locks_(buckets_for(items)), slabs_taken_(1) {
    arena.clear(index_bytes(items));
    table_.buckets = buckets_for(items);
    table_.slab_count = slabs_for(items);
    table_.slabs = arena.take<Slab>(table_.slab_count);
    table_.log = arena.take<UndoEntry>(kRivalWarps);
    table_.locks = locks_.data();
    table_.slabs_taken = slabs_taken_.data();
    table_.value_words = words;
    cells_ = std::make_unique<CellPool>(arena, cells, words * 8);
    table_.cells = cells_->view();
    must(cudaMemset(locks_.data(), 0, locks_.size() * 4), "making a rival");
    must(cudaMemset(slabs_taken_.data(), 0, 8), "making a rival");
  }

  void run(const Batch& batch) {
    const Rows rows = rows_of(batch, table_.value_words);
    const std::uint64_t warps = (rows.size + rows.each - 1) / rows.each;
    with_op(batch.op, [&](auto op) {
      slab_kernel<op.value>
          <<<blocks_for(warps * 32), kRivalThreads, 0, static_cast<cudaStream_t>(batch.device->stream)>>>(table_, rows);
    });
    must(cudaGetLastError(), "running a rival");
  }

 private:
  Slabs table_;
  GpuArray<std::uint32_t> locks_;
  GpuArray<std::uint64_t> slabs_taken_;
  std::unique_ptr<CellPool> cells_;
};

/// The road by the CPU: keys and values are copied to pinned host memory, a table on the CPU does the batch, and the results
/// are copied back.
class CpuRoad {
 public:
  CpuRoad(Table& table, std::uint64_t rows, unsigned words) : table_(table), rows_(rows), words_(words) {
    must(cudaMallocHost(&keys_, rows * 8), "taking pinned memory");
    must(cudaMallocHost(&values_, rows * words * 8), "taking pinned memory");
    must(cudaMallocHost(&statuses_, rows), "taking pinned memory");
    must(cudaMallocHost(&found_, rows), "taking pinned memory");
  }
  ~CpuRoad() {
    for (void* data : {keys_, values_, statuses_, found_}) cudaFreeHost(data);
  }
  CpuRoad(const CpuRoad&) = delete;
  CpuRoad& operator=(const CpuRoad&) = delete;

  void run(const Batch& batch) {
    if (batch.size > rows_) throw Error("link: a batch is larger than the buffers of the road by the CPU");
    const auto stream = static_cast<cudaStream_t>(batch.device->stream);
    const std::size_t bytes = batch.size * words_ * 8;
    copy(keys_, batch.keys, batch.size * 8, stream);
    if (batch.values != nullptr) copy(values_, batch.values, bytes, stream);
    must(cudaStreamSynchronize(stream), "copying keys");
    Batch here = batch;
    here.device.reset();
    here.keys = keys_;
    here.values = batch.values == nullptr ? nullptr : values_;
    here.out = batch.out == nullptr ? nullptr : values_;
    here.statuses = batch.statuses == nullptr ? nullptr : static_cast<Status*>(statuses_);
    here.found = batch.found == nullptr ? nullptr : static_cast<bool*>(found_);
    table_.run(here);
    if (batch.out != nullptr) copy(batch.out, values_, bytes, stream);
    if (batch.statuses != nullptr) copy(batch.statuses, statuses_, batch.size, stream);
    if (batch.found != nullptr) copy(batch.found, found_, batch.size, stream);
    must(cudaStreamSynchronize(stream), "copying results");
  }

 private:
  static void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying a batch");
  }
  Table& table_;
  std::uint64_t rows_;
  unsigned words_;
  void *keys_ = nullptr, *values_ = nullptr, *statuses_ = nullptr, *found_ = nullptr;
};

}  // namespace holdfast::bench
