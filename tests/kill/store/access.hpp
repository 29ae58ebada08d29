// access.hpp: how a thread of the writer reaches the store: by its calls, or through a pipeline, with other batches before and behind.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/store_pipeline.hpp"
#include "holdfast/strings.hpp"
#include "shared.hpp"

namespace holdfast::proof::kill {

inline StorePipelineOptions pipeline_options(StoreAccessBy by) {
  return {.mode = by == StoreAccessBy::staged ? StoreMode::staged : StoreMode::direct,
          .callers = kStoreThreads,
          .pending = 2,
          .cycle_us = 20};
}

inline StoreRows rows_of(const holdfast::Strings& strings) {
  return {strings.bytes(), strings.offsets(), strings.size()};
}

class StoreAccess {
 public:
  /// `pipeline`: null, or that which requests go through.
  StoreAccess(Store& store, StorePipeline* pipeline) : store_(store) {
    if (pipeline != nullptr) caller_.emplace(pipeline->caller());
  }

  bool has_pipeline() const { return caller_.has_value(); }

  /// A single call. `result`: of increment and decrement.
  StoreStatus call(const StoreRequest& request, std::uint64_t& result) {
    if (has_pipeline()) {
      std::vector<StoreAnswer> answers;
      submit({&request, 1}, answers, [&] { result = answers[0].number; });
      return answers[0].status;
    }
    const auto& [op, key, value, item, number] = request;
    switch (op) {
      case StoreOp::set: return store_.set(key, value, item);
      case StoreOp::add: return store_.add(key, value, item);
      case StoreOp::cas: return store_.cas(key, value, number, item);
      case StoreOp::append: return store_.append(key, value);
      case StoreOp::prepend: return store_.prepend(key, value);
      case StoreOp::increment: return store_.increment(key, number, result);
      case StoreOp::decrement: return store_.decrement(key, number, result);
      case StoreOp::touch: return store_.touch(key, item.expiry);
      case StoreOp::mark_stale: return store_.mark_stale(key, item.expiry);
      case StoreOp::erase: return store_.erase(key, number);
      default: throw Error("the writer has no such call");
    }
  }
  StoreStatus call(const StoreRequest& request) {
    std::uint64_t none = 0;
    return call(request, none);
  }
  std::optional<StoreItem> get(std::string_view key) {
    if (!has_pipeline()) return store_.get(key);
    std::optional<StoreItem> item;
    const StoreRequest request{.key = key};
    std::vector<StoreAnswer> answers;
    submit({&request, 1}, answers, [&] {
      const StoreAnswer& answer = answers[0];
      if (answer.status != StoreStatus::found) return;
      item = {std::string(answer.value), answer.flags, answer.cas, answer.expiry, answer.is_stale};
    });
    return item;
  }
  void set(const holdfast::Strings& keys, const holdfast::Strings& values, const std::vector<ItemOptions>& items,
           std::vector<StoreStatus>& statuses) {
    if (!has_pipeline()) {
      store_.set(rows_of(keys), rows_of(values), items, statuses);
      return;
    }
    std::vector<StoreRequest> requests;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      requests.push_back({StoreOp::set, row(keys, i), row(values, i), items[i]});
    }
    submit(requests, statuses);
  }
  void erase(const holdfast::Strings& keys, std::vector<StoreStatus>& statuses) {
    if (!has_pipeline()) {
      store_.erase(rows_of(keys), statuses);
      return;
    }
    std::vector<StoreRequest> requests;
    for (std::size_t i = 0; i < keys.size(); ++i) requests.push_back({.op = StoreOp::erase, .key = row(keys, i)});
    submit(requests, statuses);
  }

 private:
  static std::string_view row(const holdfast::Strings& strings, std::size_t i) {
    return {strings.bytes() + strings.offsets()[i], strings.offsets()[i + 1] - strings.offsets()[i]};
  }
  void submit(std::span<const StoreRequest> requests, std::vector<StoreStatus>& statuses) {
    std::vector<StoreAnswer> answers;
    submit(requests, answers, [] {});
    std::transform(answers.begin(), answers.end(), statuses.begin(), [](const StoreAnswer& row) { return row.status; });
  }
  /// Submits requests in three batches, before it waits for any; a fourth reads other keys. `use()` while the answers' values are there.
  template <class Use>
  void submit(std::span<const StoreRequest> requests, std::vector<StoreAnswer>& answers, const Use& use) {
    const std::string others[] = {store_key(turn_++ % kStoreKeys), store_key(turn_++ % kStoreKeys)};
    std::array<StoreBatch, 4> batches;
    const std::size_t size = requests.size();
    for (std::size_t i = 0; i < size; ++i) batches[3 * i / size].add(requests[i]);
    for (const std::string& other : others) batches[3].add({.key = other});
    for (StoreBatch& batch : batches) caller_->submit(batch);
    for (StoreBatch& batch : batches) caller_->wait(batch);
    answers.clear();
    for (std::size_t i = 0, row = 0, batch = 0; i < size; ++i, ++row) {
      if (3 * i / size != batch) {
        batch = 3 * i / size;
        row = 0;
      }
      answers.push_back(batches[batch].answer(row));
    }
    use();
  }

  Store& store_;
  std::optional<StoreCaller> caller_;
  std::uint64_t turn_ = 0;
};

}  // namespace holdfast::proof::kill
