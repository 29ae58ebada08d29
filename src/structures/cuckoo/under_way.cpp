// under_way.cpp: errors of batches of any kind.
#include "structures/cuckoo/under_way.hpp"

#include "structures/cuckoo/arrays.hpp"

namespace holdfast::cuckoo {

void require_batch(const AnyBatch& batch) {
  const std::size_t rows = batch.hashes.size();
  require_rows(rows);
  using enum AnyBatch::Kind;
  if (batch.kind == search) return require_equal(rows, batch.found.size(), "locations");
  if (batch.kind == candidates) return require_equal(rows, batch.lists.size(), "lists");
  if (batch.kind == exchange) require_equal(rows, batch.old.size(), "old locations");
  require_equal(rows, batch.locations.size(), "locations");
  require_equal(rows, batch.outcomes.size(), "outcomes");
  if (batch.kind == exchange) require_locations(batch.locations);
}

}  // namespace holdfast::cuckoo
