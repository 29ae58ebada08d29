// requests.cpp: requests to a store that is filled with a data set.
#include "store/requests.hpp"

#include <algorithm>
#include <atomic>

#include "frame/timing.hpp"

namespace holdfast::bench::store {

std::vector<Wanted> drawn(const Distribution& distribution, std::uint64_t seed, std::uint64_t items, std::size_t count,
                          unsigned gets) {
  Random random(seed);
  std::vector<Wanted> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].item = static_cast<std::uint32_t>(distribution.draw(random, items, i));
    all[i].is_get = random.below(100) < gets;
  }
  return all;
}

void Requests::put(std::span<const Wanted> wanted) {
  rows_.clear();
  is_get_.clear();
  for (const Wanted& one : wanted) {
    is_get_.push_back(one.is_get != 0);
    if (one.is_get != 0) {
      rows_.add_key(one.item);
    } else {
      rows_.add(one.item, 1);
    }
  }
}

StoreRequest Requests::operator[](std::size_t row) const {
  const auto bytes = [&](const StoreRows& rows, std::size_t each) {
    return std::string_view(static_cast<const char*>(rows.bytes) + row * each, each);
  };
  StoreRequest request{.key = bytes(rows_.keys(), set_.key_bytes)};
  if (is_get_[row]) return request;
  request.op = StoreOp::set;
  request.value = bytes(rows_.values(), set_.value_bytes);
  return request;
}

Flight::Flight(const DataSet& set, std::size_t most) : requests(set, most) {
  batch.on_done([this](const StoreBatch&) { ended = Clock::now(); });
}

void Flight::put(std::span<const Wanted> wanted) {
  requests.put(wanted);
  batch.clear();
  for (std::size_t row = 0; row < wanted.size(); ++row) batch.add(requests[row]);
}

std::uint64_t Flight::wrong() const {
  return requests.wrong([&](std::size_t row) { return batch.answer(row); });
}

std::unique_ptr<Bench> loaded(const Setup& setup, const DataSet& set) {
  auto bench = std::make_unique<Bench>(setup, setup.items);
  std::atomic<std::uint64_t> next = 0, failed = 0;
  together(setup.threads, [&](unsigned) {
    PackedRows rows(set, setup.batch);
    while (true) {  // ends: `next` grows
      const std::uint64_t from = next.fetch_add(setup.batch);
      if (from >= setup.items) return;
      rows.clear();
      for (std::uint64_t item = from; item < std::min(setup.items, from + setup.batch); ++item) rows.add(item, 1);
      failed += (*bench)->set(rows.keys(), rows.values());
    }
  });
  require(failed == 0, "loading");
  return bench;
}

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

}  // namespace holdfast::bench::store
