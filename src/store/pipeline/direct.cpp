// direct.cpp: batches of one caller, in their order.
#include "store/pipeline/direct.hpp"

namespace holdfast::store::pipeline {

void Direct::execute() {
  const std::lock_guard lock(mutex_);
  while (StoreBatch* const batch = queue_.take()) {
    for (std::size_t row = 0, rows = batch->size(); row < rows; ++row) {
      items_.push_back({batch, row});
      if (items_.size() == kRows || row + 1 == rows) execution_.run(items_);
    }
  }
  execution_.release();
}

}  // namespace holdfast::store::pipeline
