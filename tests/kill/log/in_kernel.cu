// in_kernel.cu: calls of a log and updates of a transaction in kernels. Sizes are powers of two: LogRound::gpu.
#include "kill/log/in_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "holdfast/log.cuh"
#include "proof/kill/mapped.cuh"

namespace holdfast::proof::kill {
namespace {

template <std::uint32_t kWords>
struct Words {
  std::uint32_t word[kWords];
};

/// `act` with the first `count` of `words`, a power of two up to kMost.
template <std::uint32_t kMost, class Act>
__device__ LogStatus with_words(const std::uint32_t* words, std::uint32_t count, const Act& act) {
  if (count == kMost) {
    Words<kMost> some;
    std::memcpy(&some, words, sizeof some);
    return act(some);
  }
  if constexpr (kMost > 1) return with_words<kMost / 2>(words, count, act);
  return LogStatus::too_large;
}

struct Call {
  LogCall call;
  std::uint32_t place;
  LogValue value;
  LogStatus status;
};

__global__ void carry_out(LogRef log, Call* one) {
  switch (one->call) {
    case LogCall::insert:
      one->status = with_words<kMostLogWords>(one->value.words, one->value.count,
                                              [&](const auto& entry) { return log.insert_at(one->place, entry); });
      break;
    case LogCall::remove: one->status = log.remove_at(one->place); break;
    default: one->status = log.clear_at(one->place);
  }
}

struct Updates {
  std::uint32_t count;
  LogStatus status;
  LogUpdate each[kMostUpdates];
};

__global__ void update_all(TransactionRef batch, std::uint32_t* region, Updates* updates) {
  for (std::uint32_t i = 0; i < updates->count; ++i) {
    const LogUpdate& one = updates->each[i];
    if (one.place != batch.log().place()) continue;
    const LogStatus status = with_words<kMostUpdate>(one.words, one.count, [&]<class Value>(const Value& value) {
      return batch.update(reinterpret_cast<Value*>(region + one.offset), value);
    });
    if (status != LogStatus::ok) updates->status = status;
  }
}

void wait() {
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}

}  // namespace

LogStatus call_in_kernel(Log& log, LogCall call, std::uint32_t place, const LogValue& value) {
  static const Mapped<Call> mapped(1);
  Call& one = *mapped.get();
  one = {call, place, value, LogStatus::ok};
  carry_out<<<1, 1>>>(LogRef(log.handle()), &one);
  wait();
  return one.status;
}

LogStatus update_in_kernel(Transaction& batch, std::uint32_t threads, const std::vector<LogUpdate>& updates) {
  static const Mapped<Updates> mapped(1);
  Updates& all = *mapped.get();
  all.count = static_cast<std::uint32_t>(updates.size());
  all.status = LogStatus::ok;
  std::copy(updates.begin(), updates.end(), all.each);
  const TransactionHandle handle = batch.handle();
  update_all<<<1, threads>>>(TransactionRef(handle), handle.region, &all);
  wait();
  return all.status;
}

}  // namespace holdfast::proof::kill
