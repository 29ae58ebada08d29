// slab_cells.cpp: cells of pairs, in slabs of one class each, which heap/cuda/slab_heap.hpp describes.
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/maintenance/table_cells.hpp"
#include "structures/gphash/pair_check.hpp"

namespace holdfast::gphash::cuda {

namespace {

class CellsOfSlabs final : public TableCells {
 public:
  explicit CellsOfSlabs(CudaTable& table) : TableCells(table), heap_(*table.memory.pairs()) {}

  void cover() override {
    heap_.cover(table_.layout().heap_view(), table_.stream);
    table_.pair_kernels->set_slabs(heap_.view());
  }
  std::uint64_t words() const override { return heap_.used().size(); }
  const DeviceBuffer<std::uint32_t>& live() override { return heap_.used(); }
  void begin(std::uint64_t left) override {
    heap_.begin(static_cast<std::int64_t>(left), table_.stream);
    table_.state.begin_retired(std::uint64_t{1} << 20, table_.stream);
  }
  void cover_values(bool) override {}  // pairs have no cache

  std::uint64_t least_growth() const override { return 8; }
  std::uint64_t cells_for(std::uint64_t) const override { return 0; }
  /// Retired cells stay retired.
  void extend() override {
    table_.memory.set_cells(table_.pool.cells());
    heap_.extend(table_.layout().heap_view(), table_.stream);
    table_.pair_kernels->set_slabs(heap_.view());
  }

  void begin_check() override {
    free_rested(heap_.view(), table_.state.ring(), table_.state.words(), table_.stream);
    read_directory(heap_.view(), table_.layout().heap_view(), 0, table_.stream);  // as the pool has it
  }
  void compare(const DeviceBuffer<std::uint32_t>& live, ScanReport* report) override {
    compare_cells(heap_.view(), live.data(), &report->wrong_cells, table_.stream);
  }
  /// Also whether every pair is as it was written, which the host reads.
  void check(CheckReport& report, const ScanReport& slots, const ScanReport& all) override {
    const auto expect = [&](bool holds, const std::string& what) {
      if (!holds) report.errors.push_back(what);
    };
    expect(all.wrong_cells == 0, std::to_string(all.wrong_cells) + " words of free cells do not say what slots name");
    const heap::HeapUse use = heap_.use(table_.stream);
    report.cells = use.used_cells + use.free_cells;
    report.free_cells = use.free_cells;
    expect(use.used_cells == slots.items, "the table believes " + std::to_string(use.used_cells) +
                                              " cells to be in use, its slots name " + std::to_string(slots.items));
    const std::int64_t left = heap_.state(table_.stream).left;
    expect(slots.left == static_cast<std::uint64_t>(left), "the table counts " + std::to_string(left) +
                                                               " bytes that pairs leave of their cells, its slots " +
                                                               std::to_string(slots.left));
    if (report.errors.empty()) report.errors = verify_pairs(table_.layout());
  }

 private:
  SlabHeap& heap_;
};

}  // namespace

std::unique_ptr<TableCells> make_slab_cells(CudaTable& table) { return std::make_unique<CellsOfSlabs>(table); }

}  // namespace holdfast::gphash::cuda
