// setup.cpp: the options of holdfast-store-bench, and its items.
#include "store/setup.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>

#include "frame/keys.hpp"

namespace holdfast::bench::store {

void Setup::take(CLI::App& app) {
  app.add_option("--pool", pool, "a pool that is made and removed")->capture_default_str();
  app.add_option("--items", items, "of a store")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch", batch, "rows")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", threads, "callers")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--sets", sets, "of the paper's data, of the study `pipeline`")->capture_default_str();
  app.add_option("--under-way", under_way,
                 "batches of 64 requests that a caller has submitted, in the study `pipeline`")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--gets", gets, "of a hundred requests, in the studies `pipeline` and `latency`")
      ->delimiter(',')
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_option("--modes", modes, "of pipelines")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, StoreMode>{{"direct", StoreMode::direct}, {"staged", StoreMode::staged}}));
  app.add_option("--rates", rates, "million requests a second of all callers, in the study `latency`")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--intervals", intervals, "microseconds in which requests are collected, in the study `latency`")
      ->delimiter(',')
      ->check(CLI::Range(1.0, 10'000.0))
      ->capture_default_str();
  app.add_option("--cycle", cycle_us, "microseconds of staged cycles in the study `pipeline`; 0: by equation 2")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--milliseconds", milliseconds, "of each measurement, in the studies `pipeline` and `latency`")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--index", index, "where a store has it")->check(CLI::IsMember({"cpu", "gpu"}))->capture_default_str();
  app.add_option("--devices", devices,
                 "of an index on GPUs; the study `pipeline` measures the first of several alone, too")
      ->delimiter(',');
  app.add_option("--blocks", blocks, "that are copied between a GPU and a store")->capture_default_str();
  app.add_option("--block-bytes", block_bytes, "of each, a multiple of 8")->capture_default_str();
  app.add_option("--repetitions", repetitions, "of each measurement")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void write_key(const DataSet& set, std::uint64_t item, std::byte* to) {
  for (std::size_t at = 0; at < set.key_bytes; at += 8) {
    const std::uint64_t word = at == 0 ? key_of(item, 1) : mix(item + at);
    std::memcpy(to + at, &word, 8);
  }
}

void write_value(const DataSet& set, std::uint64_t item, std::uint64_t version, std::byte* to) {
  fill_value(to, set.value_bytes, key_of(item, 1), version);
}

bool is_value(const DataSet& set, std::uint64_t item, std::uint64_t newest, std::string_view bytes) {
  return bytes.size() == set.value_bytes &&
         right_value(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), key_of(item, 1), newest);
}

PackedRows::PackedRows(const DataSet& set, std::size_t most)
    : set_(set),
      keys_(most * set.key_bytes),
      values_(most * set.value_bytes),
      key_offsets_(most + 1),
      value_offsets_(most + 1) {
  for (std::size_t row = 0; row <= most; ++row) {
    key_offsets_[row] = row * set.key_bytes;
    value_offsets_[row] = row * set.value_bytes;
  }
}

void PackedRows::add(std::uint64_t item, std::uint64_t version) {
  write_value(set_, item, version, values_.data() + size() * set_.value_bytes);
  add_key(item);
}

void PackedRows::add_key(std::uint64_t item) {
  write_key(set_, item, keys_.data() + size() * set_.key_bytes);
  items_.push_back(item);
}

StoreIndex index_of(const Setup& setup) { return setup.index == "gpu" ? StoreIndex::gpu : StoreIndex::cpu; }

StoreOptions options_of(const Setup& setup, std::uint64_t items) {
  return {.expected_items = items, .index = index_of(setup), .devices = setup.devices};
}

Bench::Bench(const Setup& setup, std::uint64_t items)
    : path_(setup.pool),
      pool_(Pool::create(path_, true)),
      store_(Store::create(pool_, "store", options_of(setup, items))) {}

Bench::~Bench() {
  store_.close();
  pool_.close();
  std::remove(path_.c_str());
}

void say(const std::string& what) { std::cerr << "store: " << what << "\n"; }

void require(bool right, const std::string& what) {
  if (!right) throw std::runtime_error(what + ": a wrong answer");
}

}  // namespace holdfast::bench::store
