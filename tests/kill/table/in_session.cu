// in_session.cu: carries out a batch in a kernel of its own, or erases by a predicate there, for the writers of the kill test.
#include "kill/table/in_session.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "holdfast/device_selection.cuh"
#include "holdfast/table_ref.cuh"
#include "proof/kill/mapped.cuh"

namespace holdfast::proof::kill {

using namespace test;

namespace {

template <std::size_t kWords>
struct Words {
  std::uint64_t word[kWords];
};
using Twelve = std::array<std::uint32_t, 3>;

template <class Key, class Value>
struct KernelRows {
  const Key* keys;
  const Value* values;
  Value* out;
  Status* statuses;
  bool* found;
  std::uint64_t size;
};

/// Rows with equal keys go to one warp, in array order.
template <class Ref, class Key, class Value>
__global__ void carry_out(Ref table, KernelRows<Key, Value> rows, Op op, Combine how, Element element) {
  namespace cg = cooperative_groups;
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned number = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  const unsigned warps = gridDim.x * warp.meta_group_size();
  for (std::uint64_t row = 0; row < rows.size; ++row) {
    const Key& key = rows.keys[row];
    if (reinterpret_cast<const std::uint64_t*>(rows.keys + row)[0] % warps != number) continue;
    const Value& value = rows.values[row];
    const bool found = op == Op::find ? table.copy(warp, key, rows.out + row) : table.contains(warp, key);
    Status status = found ? Status::found : Status::not_found;
    switch (op) {
      case Op::insert: status = table.insert(warp, key, value); break;
      case Op::insert_or_assign: status = table.insert_or_assign(warp, key, value); break;
      case Op::assign: status = table.assign(warp, key, value); break;
      case Op::erase: status = table.erase(warp, key); break;
      case Op::accumulate: status = table.accumulate(warp, key, value, how, element); break;
      default: break;
    }
    if (warp.thread_rank() != 0) continue;
    rows.statuses[row] = status;
    rows.found[row] = found;
  }
}

template <class Key, class Value>
bool run_as(Table& table, const std::vector<std::byte>& keys, const Batch& batch) {
  if (table.key_bytes() != sizeof(Key) || table.value_bytes() != sizeof(Value)) return false;
  const std::size_t n = batch.size;
  const Mapped<Key> its_keys(n);
  const Mapped<Value> values(n), out(n);
  const Mapped<Status> statuses(n);
  const Mapped<bool> found(n);
  std::memcpy(static_cast<void*>(its_keys.get()), keys.data(), n * sizeof(Key));
  if (batch.values) std::memcpy(static_cast<void*>(values.get()), batch.values, n * sizeof(Value));
  std::memset(static_cast<void*>(out.get()), 0, n * sizeof(Value));
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Session session = table.session(stream, n);
  const KernelRows<Key, Value> rows{its_keys.get(), values.get(), out.get(), statuses.get(), found.get(), n};
  const Accumulate how = batch.accumulate.value_or(Accumulate{});
  carry_out<<<8, 128, 0, stream>>>(session.ref<Key, Value>(), rows, batch.op, how.combine, how.element);
  session.commit(stream);
  must(cudaStreamSynchronize(stream));
  must(cudaStreamDestroy(stream));
  std::memcpy(batch.statuses, statuses.get(), n * sizeof(Status));
  std::memcpy(batch.found, found.get(), n);
  if (batch.op == Op::find) std::memcpy(batch.out, static_cast<const void*>(out.get()), n * sizeof(Value));
  return true;
}

/// Is a key among some numbers, which rise? It is noted there.
struct IsListed {
  const std::uint64_t* numbers;
  std::uint64_t size;
  bool* found;
  __device__ bool operator()(const void* key) const {
    const std::uint64_t number = *static_cast<const std::uint64_t*>(key);
    std::uint64_t low = 0;
    for (std::uint64_t high = size; low < high;) {
      const std::uint64_t middle = (low + high) / 2;
      numbers[middle] < number ? low = middle + 1 : high = middle;
    }
    if (low == size || numbers[low] != number) return false;
    return found[low] = true;
  }
  __device__ bool operator()(const void* key, const std::byte*) const { return (*this)(key); }
};

}  // namespace

bool erase_listed(NumberedTable& numbered, const std::vector<std::uint64_t>& numbers, bool reads,
                  std::vector<bool>& found) {
  if (!numbered.on_gpu()) return false;
  const std::size_t n = numbers.size();
  const Mapped<std::uint64_t> listed(n);
  const Mapped<bool> there(n);
  std::memcpy(listed.get(), numbers.data(), n * sizeof numbers[0]);
  std::memset(there.get(), 0, n);
  const IsListed predicate{listed.get(), n, there.get()};
  reads ? erase_if<void>(numbered.table(), nullptr, predicate)
        : erase_if<void>(numbered.table(), nullptr, by_key(predicate));
  found.assign(there.get(), there.get() + n);
  return true;
}

bool run_in_session(NumberedTable& numbered, const Batch& batch) {
  Table& table = numbered.table();
  const bool knows = batch.op != Op::find_or_insert && batch.op != Op::insert_and_find;
  if (!numbered.on_gpu() || numbered.any_length() || batch.ops || batch.mask || !knows) return false;
  const auto keys = numbered.bytes_of(static_cast<const std::uint64_t*>(batch.keys), batch.size);
  return run_as<std::uint64_t, std::uint64_t>(table, keys, batch) ||
         run_as<std::uint64_t, Words<16>>(table, keys, batch) || run_as<std::uint64_t, Twelve>(table, keys, batch) ||
         run_as<Words<2>, Words<16>>(table, keys, batch) || run_as<Words<4>, std::uint64_t>(table, keys, batch);
}

}  // namespace holdfast::proof::kill
