// setup.hpp: the options of holdfast-store-bench, and the items of Mega-KV's data sets (§6.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frame/studies.hpp"
#include "holdfast/store.hpp"
#include "holdfast/store_pipeline.hpp"
#include "holdfast/table.hpp"

namespace holdfast::bench::store {

struct Setup {
  std::string pool = "/dev/shm/store-bench.hold";
  std::uint64_t items = 4'000'000;
  std::uint64_t batch = 8'192;
  unsigned threads = 2;
  unsigned repetitions = 5;
  std::string index = "cpu", sets = "abcd";
  std::vector<int> devices;
  unsigned under_way = 16;
  std::vector<unsigned> gets = {95, 100};
  std::vector<StoreMode> modes = {StoreMode::direct, StoreMode::staged};
  std::vector<double> rates = {2, 4, 6, 8}, intervals = {5, 10, 20, 30, 40, 60, 80, 120, 240};
  double milliseconds = 200, cycle_us = 0;
  std::uint64_t blocks = 4'096, block_bytes = 2 << 20;

  void take(CLI::App& app);
};
using Study = StudyOf<Setup>;

struct DataSet {
  const char* name;
  std::size_t key_bytes, value_bytes;
};
inline constexpr DataSet kDataSets[] = {{"a", 8, 8}, {"b", 16, 64}, {"c", 32, 512}, {"d", 128, 1024}};

/// Item i of a data set: its key and its value in version `version` are functions of i, so that every answer can be checked.
void write_key(const DataSet& set, std::uint64_t item, std::byte* to);
void write_value(const DataSet& set, std::uint64_t item, std::uint64_t version, std::byte* to);
/// Whether these bytes are the value of the item in some version up to `newest`.
bool is_value(const DataSet& set, std::uint64_t item, std::uint64_t newest, std::string_view bytes);

/// Keys and values of a batch, packed.
class PackedRows {
 public:
  PackedRows(const DataSet& set, std::size_t most);
  void clear() { items_.clear(); }
  void add(std::uint64_t item, std::uint64_t version);
  /// A row whose value stays what it was.
  void add_key(std::uint64_t item);
  std::size_t size() const { return items_.size(); }
  std::uint64_t item(std::size_t row) const { return items_[row]; }
  StoreRows keys() const { return {keys_.data(), key_offsets_.data(), size()}; }
  StoreRows values() const { return {values_.data(), value_offsets_.data(), size()}; }

 private:
  const DataSet& set_;
  std::vector<std::uint64_t> items_;
  std::vector<std::byte> keys_, values_;
  std::vector<std::uint64_t> key_offsets_, value_offsets_;
};

/// A pool of its own with an empty store, removed at the end.
class Bench {
 public:
  Bench(const Setup& setup, std::uint64_t items);
  ~Bench();
  Store& operator*() { return store_; }
  Store* operator->() { return &store_; }
  Pool& pool() { return pool_; }

 private:
  const std::string path_;
  Pool pool_;
  Store store_;
};

inline const char* name_of(StoreMode mode) { return mode == StoreMode::direct ? "direct" : "staged"; }
StoreIndex index_of(const Setup& setup);
/// Of a store of so many items.
StoreOptions options_of(const Setup& setup, std::uint64_t items);
/// Says on stderr how far the study is.
void say(const std::string& what);
/// Throws unless it holds: an answer was wrong.
void require(bool right, const std::string& what);

}  // namespace holdfast::bench::store
