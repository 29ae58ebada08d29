// store_answers.hpp: what a store answers, as a history records it.
#pragma once

#include <charconv>
#include <string_view>

#include "holdfast/store.hpp"
#include "recorder.hpp"

namespace holdfast::test::linear {

inline Status status_of(StoreStatus status) {
  switch (status) {
    case StoreStatus::inserted: return Status::inserted;
    case StoreStatus::updated: return Status::updated;
    case StoreStatus::erased: return Status::erased;
    case StoreStatus::found: return Status::found;
    case StoreStatus::not_found: return Status::not_found;
    case StoreStatus::exists:
    case StoreStatus::mismatch: return Status::exists;
    default: return Status::no_space;
  }
}

inline State value_in(std::string_view text, bool& torn) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  torn = torn || text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size();
  return number;
}

inline bool is_there(Status status) {
  return status == Status::exists || status == Status::updated || status == Status::erased || status == Status::found;
}

}  // namespace holdfast::test::linear
