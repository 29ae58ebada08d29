// requests.hpp: requests to a store that is filled with a data set, and whether their answers are right.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame/distribution.hpp"
#include "holdfast/store_pipeline.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {

struct Wanted {
  std::uint32_t item : 31;
  std::uint32_t is_get : 1;
};
/// Draws requests of which `gets` of a hundred read.
std::vector<Wanted> drawn(const Distribution& distribution, std::uint64_t seed, std::uint64_t items, std::size_t count,
                          unsigned gets);

/// Gets, and sets of the value that the item has, so that every answer is known.
class Requests {
 public:
  Requests(const DataSet& set, std::size_t most) : set_(set), rows_(set, most) {}
  /// Makes these requests in place of those before, as a server receives them: with new bytes in the same memory.
  void put(std::span<const Wanted> wanted);
  std::size_t size() const { return rows_.size(); }
  /// Its bytes are valid until `put`.
  StoreRequest operator[](std::size_t row) const;

  /// Returns how many answers are wrong: the status and length of each are compared, and one value.
  template <class AnswerOf>
  std::uint64_t wrong(const AnswerOf& answer_of) const {
    std::uint64_t wrong = 0;
    bool looked = false;
    for (std::size_t row = 0; row < size(); ++row) {
      const StoreAnswer answer = answer_of(row);
      if (!is_get_[row]) {
        wrong += answer.status != StoreStatus::updated;
        continue;
      }
      wrong += answer.status != StoreStatus::found || answer.value.size() != set_.value_bytes;
      if (!looked) wrong += !is_value(set_, rows_.item(row), 1, answer.value);
      looked = true;
    }
    return wrong;
  }

 private:
  const DataSet& set_;
  PackedRows rows_;
  std::vector<bool> is_get_;
};

/// A batch of a pipeline, used again and again, which notes when it is done.
struct Flight {
  Flight(const DataSet& set, std::size_t most);
  Flight(const Flight&) = delete;
  void put(std::span<const Wanted> wanted);
  std::uint64_t wrong() const;

  Requests requests;
  StoreBatch batch;
  Clock::time_point begun, ended;
};

/// A store with the items of a data set.
std::unique_ptr<Bench> loaded(const Setup& setup, const DataSet& set);
/// Of sorted figures, such as 0.99.
double quantile(const std::vector<double>& sorted, double part);

}  // namespace holdfast::bench::store
